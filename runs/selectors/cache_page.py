"""The cache page: figures, what is kept of which model, and the answers page by page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from django.db.models import Avg, Count, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Length, Now, Substr
from django.utils import timezone

from runs.models import CachedReply, RemovedReply, Run
from runs.selectors.paging import Order, read_page
from workers.engine.calling.embeddings import describe_vector, is_vector

PAGE_SIZE = 25
LATEST_FIRST = Order(("created", "key"), is_descending=True)
SHORTEST_SEARCH = 3  # characters
MOST_SEARCHED = 20_000  # newest answers whose text is looked through
MOST_GROUPS = 100
MOST_REMOVALS = 20
EMBEDDING = "(the embedding of a text)"
SAMPLE = 1000  # newest answers that tell the mean size
ROW_BYTES = 260  # key, names, numbers and indexes of an entry, beside its text
EXCERPT = 300  # characters of an answer that a list reads
DAY = timedelta(days=1)
HEX = re.compile(r"[0-9a-f]+")


class CacheFigures(NamedTuple):
    entries: int
    bytes: float
    hit_rate_day: float | None
    hit_rate_all: float | None
    answers_day: int
    calls_saved: int
    dollars_saved: float | None  # None: nothing saved has a known price
    calls_joined: int


class ModelGroup(NamedTuple):
    endpoint: str
    model: str
    entries: int
    oldest: datetime
    newest: datetime

    @property
    def name(self) -> str:
        return f"{self.endpoint}/{self.model}"


@dataclass(frozen=True, slots=True)
class CacheFilters:
    text: str = ""
    endpoint: str = ""
    model: str = ""

    @property
    def are_set(self) -> int:
        return bool(self.text) + bool(self.endpoint or self.model)

    @property
    def is_too_short(self) -> bool:
        return 0 < len(self.text) < SHORTEST_SEARCH


class CachePage(NamedTuple):
    entries: Sequence[CachedReply]  # with `beginning` instead of the whole text
    next: str  # where the next page starts; empty on the last one


class Removal(NamedTuple):
    """Answers that were removed together, until they are gone."""

    remove_after: datetime
    answers: int


@dataclass(frozen=True, slots=True)
class Pruning:
    """What is to be removed: everything that fits all that is given."""

    before: datetime | None = None
    endpoint: str = ""
    model: str = ""
    run_id: int | None = None

    @property
    def text(self) -> str:
        parts = [
            f"stored before {self.before:%Y-%m-%d %H:%M} UTC" if self.before else "",
            f"of {self.endpoint}/{self.model}" if self.endpoint else "",
            f"paid by run {self.run_id}" if self.run_id is not None else "",
        ]
        return ", ".join(part for part in parts if part) or "all of them"


def read_figures() -> CacheFigures:
    """Of the whole cache and all runs: sums that tell nothing about anybody's run."""
    totals = {"answers": Sum("done"), "saved": Sum("cached")}
    runs = Run.objects.order_by()
    all_time = runs.aggregate(**totals, dollars=Sum("cost_saved"), joined=Sum("calls_joined"))
    day = runs.filter(created__gte=timezone.now() - DAY).aggregate(**totals)
    entries = CachedReply.objects.count()
    return CacheFigures(
        entries=entries,
        bytes=entries * mean_bytes() if entries else 0.0,
        hit_rate_day=share(day["saved"], day["answers"]),
        hit_rate_all=share(all_time["saved"], all_time["answers"]),
        answers_day=day["answers"] or 0,
        calls_saved=all_time["saved"] or 0,
        dollars_saved=all_time["dollars"] or None,
        calls_joined=all_time["joined"] or 0,
    )


def share(part: int | None, whole: int | None) -> float | None:
    return (part or 0) / whole if whole else None


def mean_bytes() -> float:
    """Of the newest entries: a sum over all of them would read the whole table."""
    newest = CachedReply.objects.order_by("-created").annotate(size=Length("text"))[:SAMPLE]
    return float(newest.aggregate(mean=Avg("size"))["mean"] or 0) + ROW_BYTES


def group_by_model() -> list[ModelGroup]:
    rows = (
        CachedReply.objects.order_by()
        .values_list("endpoint", "model")
        .annotate(entries=Count("*"), oldest=Min("created"), newest=Max("created"))
        .order_by("-entries", "endpoint", "model")[:MOST_GROUPS]
    )
    return [ModelGroup(*row) for row in rows]


def list_entries(
    entries: QuerySet[CachedReply], filters: CacheFilters, start: str = ""
) -> CachePage:
    """Newest first, from a page's start on; a search looks at keys and at the newest texts."""
    if filters.is_too_short:
        return CachePage([], "")
    found, after = search(entries, filters), read_place(start)
    rest = LATEST_FIRST.walk(found, after)
    if not filters.text and (last := moment_at(rest, PAGE_SIZE)) is not None:
        found = found.filter(created__gte=last)  # sorts a page of whole rows, not all of them
    found = found.annotate(beginning=Substr("text", 1, EXCERPT)).defer("text")
    page = read_page(found, LATEST_FIRST, PAGE_SIZE, after=after)
    for entry in cast("list[Any]", page.rows):  # `beginning` is no field
        if is_vector(entry.beginning):
            entry.beginning = EMBEDDING
    return CachePage(page.rows, next=place_of(page.rows[-1]) if page.has_next else "")


def moment_at(entries: QuerySet[CachedReply], place: int) -> datetime | None:
    """When the entry at a place, counted from the newest, was kept: read from an index alone."""
    return entries.order_by("-created").values_list("created", flat=True)[place:].first()


def search(entries: QuerySet[CachedReply], filters: CacheFilters) -> QuerySet[CachedReply]:
    if filters.endpoint or filters.model:
        entries = entries.filter(endpoint=filters.endpoint, model=filters.model)
    if not filters.text:
        return entries
    wanted = Q(text__icontains=filters.text)
    if (floor := moment_at(entries, MOST_SEARCHED)) is not None:
        wanted &= Q(created__gt=floor)
    prefix = filters.text.lower()
    if HEX.fullmatch(prefix):
        wanted |= Q(key__gte=prefix, key__lt=prefix + "g")  # a range, so that the index serves it
    return entries.filter(wanted)


def place_of(entry: CachedReply) -> str:
    return f"{entry.created.isoformat()}~{entry.key}"


def shown_text(entry: CachedReply) -> str:
    """The numbers of an embedding say nothing to a person."""
    return describe_vector(entry.text) if is_vector(entry.text) else entry.text


def read_place(text: str) -> tuple[datetime, str] | None:
    """Where a page starts; None for the first one, and for anything we did not write."""
    moment, _, key = text.partition("~")
    try:
        created = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return (created, key) if created.tzinfo is not None and HEX.fullmatch(key) else None


def matching(selection: Pruning) -> QuerySet[CachedReply]:
    entries = CachedReply.objects.all()
    if selection.before is not None:
        entries = entries.filter(created__lt=selection.before)
    if selection.endpoint or selection.model:
        entries = entries.filter(endpoint=selection.endpoint, model=selection.model)
    if selection.run_id is not None:
        entries = entries.filter(run_id=selection.run_id)
    return entries


def list_removals() -> list[Removal]:
    """Those that can be undone, the newest first."""
    there = RemovedReply.objects.filter(remove_after__gt=Now()).order_by()
    found = there.values_list("remove_after").annotate(answers=Count("*"))
    rows = found.order_by("-remove_after")[:MOST_REMOVALS]
    return [Removal(*row) for row in rows]


def count_matching(selection: Pruning) -> int:
    return matching(selection).count()
