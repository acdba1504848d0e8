"""The shared cache: what it holds and saved, its answers, and removing some."""

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import cached_replies_for
from runs.api.doors import caller, needs
from runs.api.pages import Cursor, Moment, Page, answer, as_of, read_cursor, write_cursor
from runs.api.problems import refuse
from runs.api.router import Routes
from runs.models import CachedReply, Scope
from runs.roles import Permission
from runs.selectors.cache_page import (
    SHORTEST_SEARCH,
    CacheFilters,
    Pruning,
    count_matching,
    list_entries,
    list_removals,
    read_figures,
)
from runs.services.cache import MOST_AT_ONCE, Pruned, prune_cache, restore_answers
from workers.engine.spec.configuration import NotSwitch, Strict

routes = Routes(tags=["Cache"])

Model = Annotated[str, Field(max_length=261, description="As in `endpoint/model`.")]


class CacheAnswer(BaseModel):
    entries: int
    bytes: float
    hit_rate_day: float | None
    hit_rate_all: float | None
    answers_day: int
    calls_saved: int
    dollars_saved: float | None
    calls_joined: int


class EntryAnswer(BaseModel):
    """`beginning` is the first part of the answer."""

    key: str
    endpoint: str
    model: str
    beginning: str
    latency_ms: float
    tokens_in: int | None
    tokens_out: int | None
    run: int | None
    created: datetime


class EntriesQuery(BaseModel):
    cursor: Cursor = ""
    model: Model = ""
    text: Annotated[
        str, Field(max_length=200, description="A part of the answer, or how its key begins.")
    ] = ""


class PruneBody(Strict):
    """Everything that fits all that is given; one of them must be given."""

    before: Moment | None = None
    model: Model = ""
    run: Annotated[int, Field(ge=1, le=2**63 - 1), NotSwitch] | None = None
    dry_run: Annotated[bool, Field(strict=True, description="Only count.")] = False
    for_good: Annotated[
        bool, Field(strict=True, description="At once: makes room, and cannot be undone.")
    ] = False


class PrunedAnswer(BaseModel):
    """`remove_after`: until then what was removed can be brought back by `/cache/restore`."""

    applied: bool
    changed: bool
    removed: int
    left: int
    remove_after: datetime | None


class RemovalAnswer(BaseModel):
    """Answers that were removed together."""

    remove_after: datetime
    answers: int


class Removals(BaseModel):
    data: list[RemovalAnswer]
    as_of: datetime


class RestoreBody(Strict):
    remove_after: Annotated[Moment, Field(description="As /cache/prune and /cache/removals say.")]


class Restored(BaseModel):
    changed: bool
    restored: int


@routes.get("/cache", auth=needs(Scope.READ), response=CacheAnswer, summary="Cache figures")
def show_cache(request: HttpRequest) -> CacheAnswer:
    """Of the whole cache and all runs."""
    return CacheAnswer(**read_figures()._asdict())


@routes.get(
    "/cache/entries",
    auth=needs(Scope.READ),
    response=Page[EntryAnswer],
    summary="List cached answers",
)
def list_cached(request: HttpRequest, query: Query[EntriesQuery]) -> HttpResponse:
    """Newest first; those that runs of yours paid for, for operators all."""
    endpoint, _, model = query.model.partition("/")
    filters = CacheFilters(text=query.text, endpoint=endpoint, model=model)
    if filters.is_too_short:
        raise refuse("text", f"Give at least {SHORTEST_SEARCH} characters.")
    start = read_cursor(query.cursor, "entries", filters)
    page = list_entries(cached_replies_for(caller(request)), filters, start or "")
    cursor = write_cursor("entries", (filters,), page.next) if page.next else None
    rows = [entry_answer(entry).model_dump() for entry in page.entries]
    return answer({"data": rows, "next_cursor": cursor, "as_of": as_of()})


@routes.post(
    "/cache/prune",
    auth=needs(Scope.MANAGE, Permission.CLEAR_CACHE),
    response=PrunedAnswer,
    summary="Remove cached answers",
)
def prune(request: HttpRequest, body: PruneBody) -> PrunedAnswer:
    """For operators. At most 100,000 at once; `left` tells how many still fit. Runs keep their
    scores; only later calls cost. They can be brought back for a while, unless `for_good`."""
    if body.before is None and not body.model and body.run is None:
        raise refuse("", "Give before, model or run: an empty selection would take everything.")
    endpoint, _, model = body.model.partition("/")
    selection = Pruning(body.before, endpoint, model, body.run)
    done = Pruned(0, None)
    if not body.dry_run:
        done = prune_cache(selection, most=MOST_AT_ONCE, for_good=body.for_good)
    return PrunedAnswer(
        applied=not body.dry_run,
        changed=done.removed > 0,
        removed=done.removed,
        left=count_matching(selection),
        remove_after=done.remove_after,
    )


@routes.get(
    "/cache/removals",
    auth=needs(Scope.READ, Permission.CLEAR_CACHE),
    response=Removals,
    summary="List removals of cached answers that can be undone",
)
def list_removed(request: HttpRequest) -> Removals:
    """For operators. The newest first."""
    found = [RemovalAnswer(**removal._asdict()) for removal in list_removals()]
    return Removals(data=found, as_of=as_of())


@routes.post(
    "/cache/restore",
    auth=needs(Scope.MANAGE, Permission.CLEAR_CACHE),
    response=Restored,
    summary="Bring cached answers back",
)
def restore_cached(request: HttpRequest, body: RestoreBody) -> Restored:
    """For operators. Those of one removal; none where they are gone, or back already. What was
    asked anew since is kept instead."""
    number = restore_answers(body.remove_after)
    return Restored(changed=number > 0, restored=number)


def entry_answer(entry: CachedReply) -> EntryAnswer:
    beginning: str = entry.beginning  # type: ignore[attr-defined]  # annotated by the list
    names = ("key", "endpoint", "model", "latency_ms", "tokens_in", "tokens_out", "created")
    return EntryAnswer(
        **{name: getattr(entry, name) for name in names}, beginning=beginning, run=entry.run_id
    )
