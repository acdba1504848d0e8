"""Tags, stars and saved views, as lists and pages show them."""

from collections import defaultdict
from typing import Any, NamedTuple

from django.db.models import (
    Aggregate,
    BigIntegerField,
    CharField,
    Exists,
    JSONField,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
)
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


class Names(Aggregate):
    """Of all rows of a group, as a list."""

    function = "JSON_GROUP_ARRAY"
    output_field = JSONField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, **context, function="JSONB_AGG")


def with_marks(runs: QuerySet[Run], person: Person) -> QuerySet[Run]:
    """Each with `is_starred`, by this person, and `tag_names`: no question more for a list."""
    mine = RunStar.objects.filter(run=OuterRef("pk"), person_id=person.pk)
    tags = RunTag.objects.filter(run=OuterRef("pk")).order_by().values("run")
    names = Subquery(tags.annotate(names=Names("name")).values("names"), output_field=JSONField())
    return runs.annotate(is_starred=Exists(mine), tag_names=names)


def tags_of(run: Run) -> list[str]:
    """As they were read with it, else asked for."""
    if not hasattr(run, "tag_names"):
        return stored_tags(run)
    return sorted(run.tag_names or ())


def stored_tags(run: Run) -> list[str]:
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
