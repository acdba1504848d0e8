"""What erasing a dataset or a person takes with it: counted before it happens, and what is in its
way."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Q, QuerySet, Sum
from pydantic import BaseModel

from runs.formatting import counted
from runs.models import (
    ANSWER_TABLES,
    ApiToken,
    Benchmark,
    Configuration,
    Dataset,
    Prompt,
    Run,
    RunState,
    Score,
    Webhook,
)
from runs.roles import Permission, Person, administrators, may
from runs.selectors.dependents import dependents_of_dataset
from runs.selectors.named_parts import split_choice

PRIVATE = Q(is_shared=False, team=None)  # nobody but its owner and operators sees it
MOST_NAMED = 5  # runs in the way: enough to find the others


class Erasure(BaseModel):
    """How many of each are erased, and how many become somebody else's or stay as they are."""

    erased: dict[str, int]
    handed_over: dict[str, int] = {}
    kept: dict[str, int] = {}


def in_words(numbers: Mapping[str, int]) -> list[str]:
    """`cached_answers: 2` is 2 cached answers; what there is none of is left out."""
    return [
        counted(number, name.replace("_", " ").removesuffix("s"))
        for name, number in numbers.items()
        if number
    ]


def find_dataset_to_erase(name: str) -> Dataset | None:
    """Any version of the name; rows that belong to runs have a name and a version."""
    chosen = split_choice(name)
    found = Dataset.objects.filter(name=chosen.name, is_hidden=chosen.version is not None)
    return found.first()


def find_account(name: str) -> User | None:
    return User.objects.filter(username=name).first()


def versions_to_erase(dataset: Dataset) -> QuerySet[Dataset]:
    """All of its name; rows that belong to runs are one dataset each."""
    if dataset.is_hidden:
        return Dataset.objects.filter(pk=dataset.pk)
    return Dataset.objects.filter(name=dataset.name)


def dataset_erasure(dataset: Dataset) -> Erasure:
    versions = versions_to_erase(dataset)
    runs = Run.objects.filter(dataset__in=versions)
    naming = [] if dataset.is_hidden else dependents_of_dataset(dataset.name).configurations
    return Erasure(
        erased={"versions": versions.count(), "rows": rows_in(versions), **parts_of(runs)},
        kept={"configurations": len(naming)},
    )


def obstacle_to_erasing_dataset(user: Person, dataset: Dataset) -> str:
    """Empty if nothing is in the way."""
    runs = Run.objects.filter(dataset__in=versions_to_erase(dataset))
    if going := going_text(runs, user):
        return going
    others = runs.exclude(owner_id=user.pk).count()
    if others and not may(user, Permission.OTHERS_WORK):
        return (
            f"{counted(others, 'run of somebody else', 'runs of others')} would be erased with it. "
            "Only operators erase the work of others: ask one."
        )
    return ""


def private_runs(person: User) -> QuerySet[Run]:
    return Run.objects.filter(PRIVATE, owner=person)


def private_datasets(person: User) -> QuerySet[Dataset]:
    """Those that no run is on which stays."""
    staying = Run.objects.exclude(pk__in=private_runs(person).values("pk"))
    return Dataset.objects.filter(PRIVATE, owner=person).exclude(
        pk__in=staying.filter(dataset__owner=person).values("dataset")
    )


def private_configurations(person: User) -> QuerySet[Configuration]:
    return Configuration.objects.filter(PRIVATE, owner=person, is_preset=False)


def person_erasure(person: User) -> Erasure:
    runs, datasets = private_runs(person), private_datasets(person)
    own: dict[str, Any] = {"owner": person}
    configurations = private_configurations(person)
    return Erasure(
        erased={
            **parts_of(runs),
            "datasets": datasets.count(),
            "rows": rows_in(datasets),
            "configurations": configurations.count(),
            "prompts": Prompt.objects.filter(PRIVATE, **own).count(),
            "tokens": ApiToken.objects.filter(**own).count(),
            "webhooks": Webhook.objects.filter(**own).count(),
            "sessions": len(sessions_of(person)),
        },
        handed_over={
            "runs": Run.objects.filter(~PRIVATE, **own).count(),
            "datasets": Dataset.objects.filter(**own).count() - datasets.count(),
            "prompts": Prompt.objects.filter(~PRIVATE, **own).count(),
            "configurations": Configuration.objects.filter(
                ~PRIVATE, **own, is_preset=False
            ).count(),
            "presets": Configuration.objects.filter(**own, is_preset=True).count(),
            "benchmarks": Benchmark.objects.filter(**own).count(),
        },
    )


def obstacle_to_erasing_person(person: User, heir: Person) -> str:
    """Empty if nothing is in the way."""
    if person.pk == heir.pk:
        return "Nobody erases their own account, as somebody must take over what it shares."
    if going := going_text(Run.objects.filter(owner=person), heir):
        return going
    if not administrators().exclude(pk=person.pk).exists():
        return "This is the only administrator. Give the role to somebody else first."
    return ""


def going_text(runs: QuerySet[Run], user: Person) -> str:
    """How many of them have not ended, and which as far as the person sees them for sure."""
    live = runs.filter(state__in=RunState.live()).order_by("pk")
    if not (count := live.count()):
        return ""
    seen = live if may(user, Permission.OTHERS_WORK) else live.filter(owner_id=user.pk)
    named = [f"{run.name} (#{run.pk})" for run in seen.only("pk", "name")[:MOST_NAMED]]
    more = [f"{count - len(named):,} more"] if named and count > len(named) else []
    told = f": {', '.join([*named, *more])}" if named else ""
    return f"{counted(count, 'run is', 'runs are')} going on{told}. Cancel them, or wait."


def parts_of(runs: QuerySet[Run]) -> dict[str, int]:
    """Answers in the cache are theirs as far as they paid for them: the cache knows no more."""
    return {
        "runs": runs.count(),
        "scores": Score.objects.filter(run__in=runs).count(),
        "cached_answers": sum(
            model._default_manager.filter(run__in=runs).count() for model in ANSWER_TABLES
        ),
    }


def rows_in(datasets: QuerySet[Dataset]) -> int:
    return datasets.order_by().aggregate(n=Sum("rows"))["n"] or 0


def sessions_of(person: User) -> list[str]:
    """Their keys. Whose a session is stands inside it only."""
    return [
        session.session_key
        for session in Session.objects.iterator()
        if session.get_decoded().get("_auth_user_id") == str(person.pk)
    ]
