"""What a new run may start from: presets, a person's configurations, their latest runs."""

from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet

from runs.models import Configuration, Dataset, Run

RECENT_RUNS = 20


class OlderVersion(NamedTuple):
    """What a past run used of a dataset that has a newer version."""

    choice: str  # as a configuration writes it
    dataset: Dataset
    newest: int

    def __str__(self) -> str:
        return (
            f"The run used v{self.dataset.version}; v{self.newest} is the newest. "
            f"To keep the old one, choose {self.choice}."
        )


def configurations_for(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Configuration]:
    """Presets are everybody's; other configurations are their owner's."""
    if not user.is_authenticated:
        return Configuration.objects.none()
    mine = Configuration.objects.filter(Q(is_preset=True) | Q(owner_id=user.pk))
    return mine.order_by("-is_preset", "name")


def document_to_repeat(run: Run) -> dict[str, Any]:
    """A past run's document for a new run: with the dataset by its name, which is its newest
    version, and without the expected answer where the dataset says the same."""
    document = dict(run.document)
    chosen, name = document.get("dataset"), run.dataset.name
    if isinstance(chosen, dict):
        document["dataset"] = {**chosen, "name": name} if len(chosen) > 1 else name
    elif chosen is not None:  # None: its kind makes the cases
        document["dataset"] = name
    if document.get("expected") == newest_of(run).expected_column:
        del document["expected"]
    return document


def older_version(run: Run) -> OlderVersion | None:
    """None if the run used the newest one."""
    used, newest = run.dataset, newest_of(run).version
    if used.is_hidden or used.version == newest:
        return None
    return OlderVersion(f"{used.name}@{used.version}", used, newest)


def newest_of(run: Run) -> Dataset:
    return Dataset.objects.filter(name=run.dataset.name).latest("version")


def recent_runs(runs: QuerySet[Run]) -> list[Run]:
    return list(runs.order_by("-pk").only("pk", "name", "kind", "created")[:RECENT_RUNS])
