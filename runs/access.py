"""The only way to obtain an object on behalf of a person. A stranger's object does not exist."""

from collections.abc import Collection
from typing import NamedTuple

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from runs.models import (
    ApiToken,
    AuditEntry,
    Benchmark,
    CachedReply,
    Configuration,
    Dataset,
    Endpoint,
    Invitation,
    Prompt,
    Run,
    RunState,
    SavedView,
    Team,
    TeamMember,
    Webhook,
    WebhookDelivery,
)
from runs.roles import Permission, Person, check_permission, may
from runs.selectors.named_parts import find_dataset
from runs.selectors.prompts import find_prompt
from runs.selectors.runs.organised import with_marks
from runs.selectors.teams import team_numbers


def own_or_shared(user: Person) -> Q:
    """Whatever the role: those of the person, and those shared with everybody or with a team of
    the person; all for operators."""
    if may(user, Permission.OTHERS_WORK):
        return Q()
    return Q(owner_id=user.pk) | Q(is_shared=True) | Q(team__in=team_numbers(user))


def runs_for(user: Person) -> QuerySet[Run]:
    """The runs a person may see: their own and the shared ones; operators see all."""
    if not may(user, Permission.SEE):
        return Run.objects.none()
    return Run.objects.filter(own_or_shared(user))


def can_change_run(user: Person, run: Run) -> bool:
    is_theirs = run.owner_id == user.pk or may(user, Permission.OTHERS_WORK)
    return is_theirs and may(user, Permission.LAUNCH)


def get_run_for(user: Person, run_id: int, *, write: bool = False) -> Run:
    """A run the person may see; else 404. With `write` one that they may change; else 403."""
    found = with_marks(runs_for(user), user).select_related("dataset", "owner", "team")
    run = get_object_or_404(found, pk=run_id)
    if write and not can_change_run(user, run):
        check_permission(user, Permission.LAUNCH)
        raise PermissionDenied(why_unchangeable(run))
    return run


def why_unchangeable(run: Run) -> str:
    owner = run.owner.get_username()
    return f"Only {owner} and operators may change this run. Ask {owner}."


class RunsToChange(NamedTuple):
    """Of runs that were asked for, those that may be seen, and why some may not be changed."""

    runs: list[Run]
    refusals: dict[int, str]


def runs_to_change(user: Person, numbers: Collection[int]) -> RunsToChange:
    """The newest first. What the person may not see does not exist."""
    found = runs_for(user).filter(pk__in=numbers).select_related("dataset", "owner")
    runs = list(found.defer("document").order_by("-pk"))
    refused = (run for run in runs if not can_change_run(user, run))
    return RunsToChange(runs, {run.pk: why_unchangeable(run) for run in refused})


def visible_live_runs(user: Person) -> set[int]:
    """Of the runs that go on, those whose names the person may read."""
    live = runs_for(user).filter(state__in=RunState.live())
    return set(live.values_list("pk", flat=True))


def datasets_for(user: Person) -> QuerySet[Dataset]:
    """The imported ones that a person may see: their own and the shared ones; operators see all.
    Rows that were made for a run or pasted into it are reached from it alone."""
    if not may(user, Permission.SEE):
        return Dataset.objects.none()
    return Dataset.objects.filter(own_or_shared(user), is_hidden=False)


def datasets_to_run_on(user: Person) -> QuerySet[Dataset]:
    """What a configuration of the person may name: what they may see, and the rows that were
    pasted into such a run. Their role was asked for at the door."""
    runs = Run.objects.filter(own_or_shared(user))
    pasted = Q(is_hidden=True, owner__isnull=False, pk__in=runs.values("dataset"))
    return Dataset.objects.filter(Q(is_hidden=False) & own_or_shared(user) | pasted)


def can_open_dataset(user: Person, dataset: Dataset) -> bool:
    """Of a run that the person may see. Its own rows are shown with its results; the dataset may
    have more, so its page is only for those who may see the dataset."""
    is_theirs = dataset.owner_id == user.pk or may(user, Permission.OTHERS_WORK)
    if dataset.is_hidden or dataset.is_shared or is_theirs:
        return True
    return dataset.team_id is not None and is_member(user, dataset.team_id)


def is_member(user: Person, team_id: int) -> bool:
    return TeamMember.objects.filter(team_id=team_id, person_id=user.pk).exists()


def owns_dataset(user: Person, name: str) -> bool:
    """Whether no version is somebody else's: a name is shared, archived and removed as a whole.
    A name that is free is anybody's."""
    if may(user, Permission.OTHERS_WORK):
        return True
    return not Dataset.objects.filter(name=name).exclude(owner_id=user.pk).exists()


def can_change_dataset(user: Person, dataset: Dataset) -> bool:
    """Add a version, say its expected answer, share, archive or delete it."""
    return not dataset.is_hidden and can_erase_dataset(user, dataset)


def can_erase_dataset(user: Person, dataset: Dataset) -> bool:
    """Rows that they pasted into runs, too; what is in its way is said by the page."""
    return may(user, Permission.IMPORT) and owns_dataset(user, dataset.name)


def get_dataset_for(user: Person, dataset_id: int, *, write: bool = False) -> Dataset:
    """A dataset the person may see; else 404. With `write` one that they may change; else 403."""
    of_runs = Dataset.objects.filter(is_hidden=True, pk__in=runs_for(user).values("dataset"))
    dataset = get_object_or_404(datasets_for(user) | of_runs, pk=dataset_id)
    if write and not can_change_dataset(user, dataset):
        check_permission(user, Permission.IMPORT)
        raise PermissionDenied("Only its owner and operators may change this dataset.")
    return dataset


def get_dataset_to_erase_for(user: Person, dataset_id: int) -> Dataset:
    dataset = get_dataset_for(user, dataset_id)
    if not can_erase_dataset(user, dataset):
        check_permission(user, Permission.IMPORT)
        raise PermissionDenied("Only its owner and operators may erase this dataset.")
    return dataset


def find_dataset_for(user: Person, choice: str, *, write: bool = False) -> Dataset:
    """By `name`, its newest version, or exactly `name@3`."""
    dataset = find_dataset(choice, datasets_to_run_on(user))
    if dataset is None:
        raise Http404(choice)
    return get_dataset_for(user, dataset.pk, write=write)


def stored_configurations_for(user: Person) -> QuerySet[Configuration]:
    """What lists and forms offer, and what is launched: none that is deleted."""
    return all_configurations_for(user).filter(remove_after=None)


def all_configurations_for(user: Person) -> QuerySet[Configuration]:
    """Their own and the shared ones, and presets, which are everybody's; operators see all. Also
    the deleted ones, until they are removed."""
    if not may(user, Permission.SEE):
        return Configuration.objects.none()
    if may(user, Permission.OTHERS_WORK):
        return Configuration.objects.all()
    return Configuration.objects.filter(own_or_shared(user) | Q(is_preset=True))


def can_change_configuration(user: Person, stored: Configuration) -> bool:
    """Add a version, share or delete it."""
    is_theirs = stored.owner_id == user.pk or may(user, Permission.OTHERS_WORK)
    return is_theirs and may(user, Permission.CONFIGURE)


def owns_configuration(user: Person, name: str) -> bool:
    """Whether saving under this name is theirs to do. A name that is free is anybody's."""
    stored = Configuration.objects.filter(name=name).only("owner_id").first()
    return stored is None or can_change_configuration(user, stored)


def get_configuration_for(
    user: Person, name: str, *, write: bool = False, even_deleted: bool = False
) -> Configuration:
    """By its name, as programs and commands call it."""
    visible = all_configurations_for(user) if even_deleted else stored_configurations_for(user)
    return _checked_configuration(user, visible.filter(name=name), write=write)


def open_configuration_for(
    user: Person, pk: int, *, write: bool = False, even_deleted: bool = False
) -> Configuration:
    """By its number, as pages name it."""
    visible = all_configurations_for(user) if even_deleted else stored_configurations_for(user)
    return _checked_configuration(user, visible.filter(pk=pk), write=write)


def _checked_configuration(
    user: Person, named: QuerySet[Configuration], *, write: bool
) -> Configuration:
    found = get_object_or_404(named.select_related("owner", "team"))
    if write and not can_change_configuration(user, found):
        check_permission(user, Permission.CONFIGURE)
        raise PermissionDenied("Only its owner and operators may change this configuration.")
    return found


def prompts_for(user: Person) -> QuerySet[Prompt]:
    """Of the library: their own and the shared ones; operators see all."""
    if not may(user, Permission.SEE):
        return Prompt.objects.none()
    return Prompt.objects.filter(own_or_shared(user))


def owns_prompt(user: Person, name: str) -> bool:
    """As of datasets: a name is one person's, in all its versions."""
    if may(user, Permission.OTHERS_WORK):
        return True
    return not Prompt.objects.filter(name=name).exclude(owner_id=user.pk).exists()


def can_change_prompt(user: Person, prompt: Prompt) -> bool:
    """Add a version, share or delete it."""
    return may(user, Permission.CONFIGURE) and owns_prompt(user, prompt.name)


def get_prompt_for(user: Person, prompt_id: int, *, write: bool = False) -> Prompt:
    """A prompt the person may see; else 404. With `write` one that they may change; else 403."""
    prompt = get_object_or_404(prompts_for(user).select_related("owner", "team"), pk=prompt_id)
    if write and not can_change_prompt(user, prompt):
        check_permission(user, Permission.CONFIGURE)
        raise PermissionDenied("Only its owner and operators may change this prompt.")
    return prompt


def find_prompt_for(user: Person, choice: str, *, write: bool = False) -> Prompt:
    """By `name`, its newest version, or exactly `name@3`."""
    prompt = find_prompt(choice, prompts_for(user))
    if prompt is None:
        raise Http404(choice)
    return get_prompt_for(user, prompt.pk, write=write)


def usable_datasets_for(user: Person) -> QuerySet[Dataset]:
    """What forms and lists offer."""
    return datasets_for(user).filter(archived=None)


def usable_endpoints_for(user: Person) -> QuerySet[Endpoint]:
    return endpoints_for(user).filter(archived=None)


def endpoints_for(user: Person) -> QuerySet[Endpoint]:
    return Endpoint.objects.all() if may(user, Permission.SEE) else Endpoint.objects.none()


def get_endpoint_for(user: Person, endpoint_id: int, *, write: bool = False) -> Endpoint:
    endpoint = get_object_or_404(endpoints_for(user), pk=endpoint_id)
    if write:
        check_permission(user, Permission.EDIT_ENDPOINTS)
    return endpoint


def find_endpoint_for(user: Person, name: str, *, write: bool = False) -> Endpoint:
    found = get_object_or_404(endpoints_for(user), name=name)
    return get_endpoint_for(user, found.pk, write=write)


def benchmarks_for(user: Person) -> QuerySet[Benchmark]:
    return Benchmark.objects.all() if may(user, Permission.SEE) else Benchmark.objects.none()


def get_benchmark_for(user: Person, benchmark_id: int) -> Benchmark:
    return get_object_or_404(benchmarks_for(user), pk=benchmark_id)


def cached_replies_for(user: Person) -> QuerySet[CachedReply]:
    """The cache serves everybody, but an answer shows only to who may see the run that paid it."""
    if may(user, Permission.OTHERS_WORK):
        return CachedReply.objects.all()
    return CachedReply.objects.filter(run__in=runs_for(user))


def get_cached_reply_for(user: Person, key: str) -> CachedReply:
    return get_object_or_404(cached_replies_for(user).select_related("run"), pk=key)


def people_for(user: Person) -> QuerySet[User]:
    return User.objects.all() if may(user, Permission.MANAGE_PEOPLE) else User.objects.none()


def get_person_for(user: Person, person_id: int) -> User:
    return get_object_or_404(people_for(user), pk=person_id)


def invitations_for(user: Person) -> QuerySet[Invitation]:
    invitations = Invitation.objects.select_related("made_by", "used_by")
    return invitations if may(user, Permission.MANAGE_PEOPLE) else invitations.none()


def get_invitation_for(user: Person, invitation_id: int) -> Invitation:
    return get_object_or_404(invitations_for(user), pk=invitation_id)


def teams_for(user: Person) -> QuerySet[Team]:
    """Those that a person is in, and may share with; operators share with all."""
    if not may(user, Permission.SEE):
        return Team.objects.none()
    if may(user, Permission.OTHERS_WORK):
        return Team.objects.all()
    return Team.objects.filter(pk__in=team_numbers(user))


def get_team_for(user: Person, team_id: int) -> Team:
    return get_object_or_404(teams_for(user), pk=team_id)


def find_team_for(user: Person, name: str) -> Team:
    return get_object_or_404(teams_for(user), name=name)


def audit_for(user: Person) -> QuerySet[AuditEntry]:
    entries = AuditEntry.objects.all()
    return entries if may(user, Permission.READ_AUDIT) else entries.none()


def find_person_for(user: Person, name: str) -> User:
    return get_object_or_404(people_for(user), username=name)


def tokens_for(user: Person) -> QuerySet[ApiToken]:
    """A person's own, and nobody else's: also admins act for themselves only."""
    if not may(user, Permission.SEE):
        return ApiToken.objects.none()
    return ApiToken.objects.filter(owner_id=user.pk)


def get_token_for(user: Person, token_id: int) -> ApiToken:
    return get_object_or_404(tokens_for(user), pk=token_id)


def webhooks_for(user: Person) -> QuerySet[Webhook]:
    """A person's own, as with tokens."""
    if not may(user, Permission.SEE):
        return Webhook.objects.none()
    return Webhook.objects.filter(owner_id=user.pk)


def get_delivery_for(user: Person, delivery_id: int) -> WebhookDelivery:
    mine = WebhookDelivery.objects.filter(webhook__in=webhooks_for(user))
    return get_object_or_404(mine.select_related("webhook"), pk=delivery_id)


def get_webhook_for(user: Person, webhook_id: int) -> Webhook:
    return get_object_or_404(webhooks_for(user), pk=webhook_id)


def views_for(user: Person) -> QuerySet[SavedView]:
    """A person's own, as with tokens."""
    if not may(user, Permission.SEE):
        return SavedView.objects.none()
    return SavedView.objects.filter(owner_id=user.pk)


def get_view_for(user: Person, view_id: int) -> SavedView:
    return get_object_or_404(views_for(user), pk=view_id)
