"""Stored configurations: by name, in lists, and what they were in earlier versions."""

from typing import Any, NamedTuple

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from runs.models import Configuration, ConfigurationVersion, Run
from runs.selectors.runs.run_list import RunRow, describe, for_rows
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration

MOST_RUNS = 20  # on its page, the newest first


class ListedConfiguration(NamedTuple):
    """`runs` and `last` are of the runs that the person may see."""

    stored: Configuration
    runs: int
    last: RunRow | None


def find_configuration(name: str) -> Configuration | None:
    return Configuration.objects.filter(name=name, remove_after=None).first()


def find_deleted(name: str) -> Configuration | None:
    return Configuration.objects.filter(name=name, remove_after__isnull=False).first()


def deleted_text(stored: Configuration) -> str:
    """Why it is not launched, and its name not free."""
    after = f"{stored.remove_after:%Y-%m-%d %H:%M} UTC"
    return (
        f"The configuration {stored.name!r} is deleted, and removed for good after {after}. "
        "Bring it back, or remove it for good first."
    )


def configuration_names() -> list[str]:
    in_use = Configuration.objects.filter(remove_after=None)
    return list(in_use.order_by("name").values_list("name", flat=True))


def listed_configurations(
    stored: QuerySet[Configuration], runs: QuerySet[Run], most: int
) -> list[ListedConfiguration]:
    """By name, each with its newest run; in a fixed number of queries."""
    own = runs.filter(configuration=OuterRef("pk")).order_by()
    counted = own.values("configuration").annotate(n=Count("pk")).values("n")
    found = list(
        stored.select_related("owner")
        .annotate(
            runs=Coalesce(Subquery(counted, output_field=IntegerField()), 0),
            newest=Subquery(own.order_by("-pk").values("pk")[:1]),
        )
        .defer("document")
        .order_by("name")[:most]
    )
    newest = for_rows(runs.filter(pk__in=[one.newest for one in found if one.newest]))
    rows = {row.run.pk: row for row in describe(newest)}
    return [ListedConfiguration(one, one.runs, rows.get(one.newest)) for one in found]


def runs_of(stored: Configuration, runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.filter(configuration=stored)


def newest_runs_of(stored: Configuration, runs: QuerySet[Run]) -> list[RunRow]:
    return describe(for_rows(runs_of(stored, runs)).order_by("-pk")[:MOST_RUNS])


def configuration_versions(stored: Configuration) -> list[ConfigurationVersion]:
    """Newest first. Those from before versions were kept are not there, but for the newest."""
    found = list(stored.versions.select_related("saved_by"))
    if found and found[0].version == stored.version:
        return found
    current = ConfigurationVersion(
        configuration=stored,
        version=stored.version,
        kind=stored.kind,
        document=stored.document,
        created=stored.updated,
    )
    return [current, *found]


def describes_same(document: dict[str, Any], stored: Configuration) -> bool:
    """Whether a run of the document is a run of the configuration, however each is written."""
    try:
        return read_configuration(document) == read_configuration(stored.as_document)
    except ConfigurationError:
        return False
