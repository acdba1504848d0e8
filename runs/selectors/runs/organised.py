"""Tags, stars and saved views, as lists and pages show them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django.db.models import BigIntegerField, CharField, Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Cast

from runs.models import Endpoint, Run, RunStar, RunTag, SavedView
from runs.roles import Person

MOST_OFFERED = 50  # of each: who has more types the name
KINDS_OFFERED = ("owner", "tag", "endpoint")


class View(NamedTuple):
    """A saved view, as a link to it needs it."""

    name: str
    query: str
    pk: int


class Choices(NamedTuple):
    """What the filters offer, where any other name may be typed, and the person's own views."""

    owners: list[str]
    tags: list[str]
    endpoints: list[str]
    views: list[View]


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


def filter_choices(
    runs: QuerySet[Run], endpoints: QuerySet[Endpoint], views: QuerySet[SavedView]
) -> Choices:
    """In one question: four lists of names, of what the person may see."""
    visible = runs.order_by()
    tagged = RunTag.objects.order_by().filter(run__in=visible.values("pk"))
    rows = _named("owner", visible, "owner__username").union(
        _named("tag", tagged, "name"),
        _named("endpoint", endpoints.order_by(), "name"),
        _named("view", views.order_by(), "name", "query", "pk"),
    )
    found: dict[str, list[View]] = defaultdict(list)
    for kind, *row in sorted(rows):
        found[kind].append(View(*row))
    names = {kind: [row.name for row in found[kind][:MOST_OFFERED]] for kind in KINDS_OFFERED}
    return Choices(names["owner"], names["tag"], names["endpoint"], found["view"])


def _named(
    kind: str, rows: QuerySet[Any], name: str, query: str = "", key: str = ""
) -> QuerySet[Any]:
    columns = (
        Value(kind, output_field=CharField()),
        Cast(name, CharField()),
        Cast(query, CharField()) if query else Value("", output_field=CharField()),
        Cast(key, BigIntegerField()) if key else Value(0, output_field=BigIntegerField()),
    )
    return rows.values_list(*columns).distinct()
