"""The only way to obtain an object on behalf of a person. A stranger's object does not exist."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from runs.models import (
    ApiToken,
    Benchmark,
    CachedReply,
    Configuration,
    Dataset,
    Endpoint,
    Run,
    RunState,
    Webhook,
)
from runs.selectors.choices import find_dataset

Person = AbstractBaseUser | AnonymousUser


def is_staff(user: Person) -> bool:
    return bool(user.is_authenticated and getattr(user, "is_staff", False) and user.is_active)


def runs_for(user: Person) -> QuerySet[Run]:
    """The runs a person may see: their own; staff see all."""
    if not user.is_authenticated or not user.is_active:
        return Run.objects.none()
    return Run.objects.all() if is_staff(user) else Run.objects.filter(owner_id=user.pk)


def get_run_for(user: Person, run_id: int, *, write: bool = False) -> Run:
    """A run the person may see, or change with `write`. Otherwise 404."""
    del write  # who may see a run may also change it, until runs can be shared
    return get_object_or_404(runs_for(user).select_related("dataset", "owner"), pk=run_id)


def visible_live_runs(user: Person) -> set[int]:
    """Of the runs that go on, those whose names the person may read."""
    live = runs_for(user).filter(state__in=RunState.live())
    return set(live.values_list("pk", flat=True))


def datasets_for(user: Person) -> QuerySet[Dataset]:
    return Dataset.objects.all() if user.is_authenticated else Dataset.objects.none()


def get_dataset_for(user: Person, dataset_id: int) -> Dataset:
    return get_object_or_404(datasets_for(user), pk=dataset_id)


def find_dataset_for(user: Person, choice: str) -> Dataset:
    """By `name`, its newest version, or exactly `name@3`."""
    dataset = find_dataset(choice)
    if dataset is None or not datasets_for(user).filter(pk=dataset.pk).exists():
        raise Http404(choice)
    return dataset


def stored_configurations_for(user: Person) -> QuerySet[Configuration]:
    """Presets are everybody's, others their owner's; staff see all."""
    if not user.is_authenticated:
        return Configuration.objects.none()
    if is_staff(user):
        return Configuration.objects.all()
    return Configuration.objects.filter(Q(is_preset=True) | Q(owner_id=user.pk))


def get_configuration_for(user: Person, name: str, *, write: bool = False) -> Configuration:
    found = get_object_or_404(stored_configurations_for(user), name=name)
    if write and not is_staff(user) and found.owner_id != user.pk:
        raise PermissionDenied("Only its owner or staff may change this configuration.")
    return found


def endpoints_for(user: Person) -> QuerySet[Endpoint]:
    return Endpoint.objects.all() if user.is_authenticated else Endpoint.objects.none()


def can_edit_endpoints(user: Person) -> bool:
    return is_staff(user)


def get_endpoint_for(user: Person, endpoint_id: int, *, write: bool = False) -> Endpoint:
    endpoint: Any = get_object_or_404(endpoints_for(user), pk=endpoint_id)
    if write and not can_edit_endpoints(user):
        raise PermissionDenied("Only staff may change endpoints. Ask an administrator.")
    return endpoint  # type: ignore[no-any-return]


def find_endpoint_for(user: Person, name: str, *, write: bool = False) -> Endpoint:
    found = get_object_or_404(endpoints_for(user), name=name)
    return get_endpoint_for(user, found.pk, write=write)


def benchmarks_for(user: Person) -> QuerySet[Benchmark]:
    return Benchmark.objects.all() if user.is_authenticated else Benchmark.objects.none()


def get_benchmark_for(user: Person, benchmark_id: int) -> Benchmark:
    return get_object_or_404(benchmarks_for(user), pk=benchmark_id)


def cached_replies_for(user: Person) -> QuerySet[CachedReply]:
    """The cache serves everybody, but an answer shows only to who may see the run that paid it."""
    if is_staff(user):
        return CachedReply.objects.all()
    return CachedReply.objects.filter(run__in=runs_for(user))


def get_cached_reply_for(user: Person, key: str) -> CachedReply:
    return get_object_or_404(cached_replies_for(user).select_related("run"), pk=key)


def can_prune_cache(user: Person) -> bool:
    return is_staff(user)


def tokens_for(user: Person) -> QuerySet[ApiToken]:
    """A person's own, and nobody else's: also staff act for themselves only."""
    if not user.is_authenticated:
        return ApiToken.objects.none()
    return ApiToken.objects.filter(owner_id=user.pk)


def get_token_for(user: Person, token_id: int) -> ApiToken:
    return get_object_or_404(tokens_for(user), pk=token_id)


def webhooks_for(user: Person) -> QuerySet[Webhook]:
    """A person's own, as with tokens."""
    if not user.is_authenticated:
        return Webhook.objects.none()
    return Webhook.objects.filter(owner_id=user.pk)


def get_webhook_for(user: Person, webhook_id: int) -> Webhook:
    return get_object_or_404(webhooks_for(user), pk=webhook_id)
