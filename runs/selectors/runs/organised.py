"""Tags, stars and saved views, as lists and pages show them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.db.models import CharField, Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Cast

from runs.models import Endpoint, Run, RunStar, RunTag, SavedView
from runs.roles import Person

MOST_OFFERED = 50  # of each: who has more types the name


class Choices(NamedTuple):
    """What the filters offer; any other name may be typed."""

    owners: list[str]
    tags: list[str]
    endpoints: list[str]


def with_stars(runs: QuerySet[Run], person: Person) -> QuerySet[Run]:
    """Each with `is_starred`: by this person."""
    mine = RunStar.objects.filter(run=OuterRef("pk"), person_id=person.pk)
    return runs.annotate(is_starred=Exists(mine))


def is_starred(run: Run, person: Person) -> bool:
    return RunStar.objects.filter(run=run, person_id=person.pk).exists()


def tags_by_run(runs: Iterable[Run]) -> Mapping[int, list[str]]:
    """In one question for all of them."""
    found: dict[int, list[str]] = defaultdict(list)
    rows = RunTag.objects.filter(run__in=[run.pk for run in runs]).order_by("run", "name")
    for run_id, name in rows.values_list("run_id", "name"):
        found[run_id].append(name)
    return found


def tags_of(run: Run) -> list[str]:
    return list(RunTag.objects.filter(run=run).order_by("name").values_list("name", flat=True))


def filter_choices(runs: QuerySet[Run], endpoints: QuerySet[Endpoint]) -> Choices:
    """In one question: three lists of names, of what the person may see."""
    visible = runs.order_by()
    owners = _named("owner", visible, "owner__username")
    tags = _named("tag", RunTag.objects.order_by().filter(run__in=visible.values("pk")), "name")
    offered = _named("endpoint", endpoints.order_by(), "name")
    found: dict[str, list[str]] = defaultdict(list)
    for kind, name in sorted(owners.union(tags, offered)):
        if len(found[kind]) < MOST_OFFERED:
            found[kind].append(name)
    return Choices(found["owner"], found["tag"], found["endpoint"])


def _named(kind: str, rows: QuerySet, column: str) -> QuerySet:  # type: ignore[type-arg]
    text = Cast(column, CharField())
    return rows.values_list(Value(kind, output_field=CharField()), text).distinct()


def views_of(person: Person) -> list[SavedView]:
    return list(SavedView.objects.filter(owner_id=person.pk).order_by("name"))
