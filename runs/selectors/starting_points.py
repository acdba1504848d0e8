"""What a new run may start from: presets, a person's configurations, their latest runs."""

from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet

from runs.models import Configuration, Dataset, Run
from runs.selectors.teams import team_numbers

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
    """Presets, those shared with everybody or with a team of the person, and their own."""
    if not user.is_authenticated:
        return Configuration.objects.none()
    shared = Q(is_shared=True) | Q(team__in=team_numbers(user))
    offered = Q(is_preset=True) | Q(owner_id=user.pk) | shared
    return Configuration.objects.filter(offered, remove_after=None).order_by("-is_preset", "name")


def document_to_repeat(run: Run, datasets: QuerySet[Dataset]) -> dict[str, Any]:
    """A past run's document for a new run: with the dataset by its name, which is its newest
    version, and without the expected answer where the dataset says the same. Rows that were pasted
    have one version. `datasets` are those that the person may use."""
    document, used = dict(run.document), run.dataset
    chosen, name = document.get("dataset"), choice_of(used) if used.is_hidden else used.name
    if isinstance(chosen, dict):
        document["dataset"] = {**chosen, "name": name} if len(chosen) > 1 else name
    elif chosen is not None:  # None: its kind makes the cases
        document["dataset"] = name
    newest = newest_of(run, datasets)
    if newest is not None and document.get("expected") == newest.expected_column:
        del document["expected"]
    return document


def older_version(run: Run, datasets: QuerySet[Dataset]) -> OlderVersion | None:
    """None if the run used the newest one, or the person may use none."""
    used, newest = run.dataset, newest_of(run, datasets)
    if newest is None or used.is_hidden or used.version == newest.version:
        return None
    return OlderVersion(choice_of(used), used, newest.version)


def choice_of(dataset: Dataset) -> str:
    return f"{dataset.name}@{dataset.version}"


def newest_of(run: Run, datasets: QuerySet[Dataset]) -> Dataset | None:
    """Made cases are none that could be chosen, but say which column they expect."""
    if run.dataset.is_hidden:
        return run.dataset
    return datasets.filter(name=run.dataset.name).order_by("-version").first()


def recent_runs(runs: QuerySet[Run]) -> list[Run]:
    return list(runs.order_by("-pk").only("pk", "name", "kind", "created")[:RECENT_RUNS])
