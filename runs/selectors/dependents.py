"""What uses a dataset or an endpoint: while something does, it is archived instead of deleted."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from runs.formatting import counted
from runs.models import Configuration, Dataset, Endpoint, Run, RunState
from runs.selectors.endpoints.called import live_runs_using
from runs.selectors.named_parts import split_choice
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration


@dataclass(frozen=True)
class Dependents:
    """Of everybody: pages name only those that the person may see, and count the others."""

    runs: QuerySet[Run]
    configurations: list[Configuration]

    def __bool__(self) -> bool:
        return bool(self.configurations) or self.runs.exists()

    @property
    def text(self) -> str:
        """3 runs (1 not ended yet) and 2 configurations."""
        runs, live = self.runs.count(), self.runs.filter(state__in=RunState.live()).count()
        parts = [counted(runs, "run") + (f" ({live:,} not ended yet)" if live else "")] * bool(runs)
        if self.configurations:
            deleted = sum(1 for one in self.configurations if one.remove_after)
            told = f" ({deleted:,} deleted, not removed yet)" if deleted else ""
            parts.append(counted(len(self.configurations), "configuration") + told)
        return " and ".join(parts)

    def runs_among(self, visible: QuerySet[Run], most: int) -> list[Run]:
        """The newest of those that a person may see."""
        found = self.runs.filter(pk__in=visible).order_by("-pk")
        return list(found.only("pk", "name", "state")[:most])

    def configurations_among(
        self, visible: QuerySet[Configuration], most: int
    ) -> list[Configuration]:
        seen = set(visible.values_list("pk", flat=True))
        return [one for one in self.configurations if one.pk in seen][:most]


def dependents_of_dataset(name: str) -> Dependents:
    """Of all its versions."""
    named = [found for found in stored() if split_choice(dataset_named(found)).name == name]
    return Dependents(Run.objects.filter(dataset__name=name), named)


def dependents_of_version(dataset: Dataset) -> Dependents:
    """A name without a version means the newest one, so it depends on that."""
    newest = Dataset.objects.filter(name=dataset.name).order_by("-version").first()
    choices: list[tuple[str, int | None]] = [(dataset.name, dataset.version)]
    if newest == dataset:
        choices.append((dataset.name, None))
    named = [found for found in stored() if split_choice(dataset_named(found)) in choices]
    return Dependents(Run.objects.filter(dataset=dataset), named)


def dependents_of_endpoint(endpoint: Endpoint) -> Dependents:
    used = Q(snapshot_of__endpoints__has_key=endpoint.name) | Q(pk__in=live_runs_using(endpoint))
    named = [found for found in stored() if endpoint.name in endpoints_named(found)]
    return Dependents(Run.objects.filter(used), named)


def stored() -> QuerySet[Configuration]:
    """Also the deleted ones: who brings one back wants to launch it."""
    return Configuration.objects.order_by("name")


def dataset_named(configuration: Configuration) -> str:
    choice = configuration.document.get("dataset")
    name = choice.get("name") if isinstance(choice, dict) else choice
    return name if isinstance(name, str) else ""


def endpoints_named(configuration: Configuration) -> Collection[str]:
    try:
        read = read_configuration(configuration.as_document)
    except ConfigurationError:  # of an earlier version: better one too many than one too few
        return {text.partition("/")[0] for text in texts_in(configuration.document)}
    return {model.endpoint for model in read.every_model}


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from texts_in(part)
