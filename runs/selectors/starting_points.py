"""What a new run may start from: presets, a person's configurations, their latest runs."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet

from runs.models import Configuration, Run

RECENT_RUNS = 20


def configurations_for(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Configuration]:
    """Presets are everybody's; other configurations are their owner's."""
    if not user.is_authenticated:
        return Configuration.objects.none()
    mine = Configuration.objects.filter(Q(is_preset=True) | Q(owner_id=user.pk))
    return mine.filter(kind="evaluate").order_by("-is_preset", "name")


def recent_runs(runs: QuerySet[Run]) -> list[Run]:
    return list(runs.order_by("-pk").only("pk", "name", "kind", "created")[:RECENT_RUNS])
