"""What a run brought: candidates, samples and events."""

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import get_run_for
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, Fields, Page, PageQuery, Since, answer, as_of
from runs.api.problems import refuse
from runs.api.router import Routes
from runs.api.routes.runs import RunId
from runs.kinds import kind_of
from runs.models import EventLevel, Run, Scope
from runs.selectors.api_lists import EventRow, list_event_rows
from runs.selectors.pickable import Pickable
from runs.selectors.runs.leaderboard import LeaderboardRow, leaderboard, told_only
from runs.selectors.runs.series import COLUMNS, read_series
from workers.engine.records import EVALUATE

routes = Routes(tags=["Results"])


class VersusBestRow(BaseModel):
    """A candidate less the best, case by case on the cases that both have. `p` is of "there is no
    difference"; `p_corrected` knows that the best was chosen among all by the same scores (Tukey's
    range), and decides whether it is separable. About `more_cases` would separate it; null: it is
    separable, or it cannot be said."""

    mean: float
    low: float | None
    high: float | None
    p: float
    p_corrected: float
    method: str
    cases: int
    separable: bool
    more_cases: int | None


class RepeatsRow(BaseModel):
    """Over the cases that have k tries or more: the mean, the share that most tries have right, how
    likely at least one of k tries is right (pass@k), and how likely all are (pass^k)."""

    k: int
    cases: int
    mean: float
    majority: float
    pass_at_k: float
    pass_hat_k: float


class CandidateRow(Pickable):
    """One thing under test. Ranks are by score; one without a score has none, and so has what is
    only told to the run's strategy."""

    candidate: str
    role: str
    rank: int | None
    place: int
    name: str
    prompt: str
    model: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    planned: int
    failed: int
    failed_share: float
    value_failures_wrong: Annotated[
        float | None,
        Field(description="If its failed trials were wrong: the lower end, by which ranks go."),
    ]
    value_failures_right: Annotated[
        float | None, Field(description="If they were right: the upper end.")
    ]
    cached: int
    latency_p50: float | None
    latency_p95: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost_per_thousand: float | None
    interval: Annotated[
        Literal["wilson", "student"],
        Field(description="Of low and high: wilson of shares, student of other values."),
    ]
    bootstrap_low: float | None
    bootstrap_high: float | None
    cases: Annotated[int, Field(description="That it has an answer or a failure for.")]
    compared_value: Annotated[
        float | None,
        Field(description="Its mean on compared_cases, of the trials that were answered."),
    ]
    compared_cases: Annotated[
        int, Field(description="The cases that all have reached, but those that saw too few.")
    ]
    versus_best: VersusBestRow | None
    separable_from_best: bool
    changed: int
    changed_value: float | None
    repeats: RepeatsRow | None


class SampleRow(BaseModel):
    """One point of the charts: rates a second, latencies in milliseconds."""

    second: int
    fresh: float
    cached: float
    failed: float
    in_flight: int
    latency_p50: float | None
    latency_p95: float | None


class Samples(Page[SampleRow]):
    step_seconds: int


class ItemsQuery(PageQuery):
    fields: Fields = ""


Role = Annotated[str, Field(max_length=20, description="A role of the run's trials.")]


class CandidatesQuery(ItemsQuery):
    role: Role = EVALUATE
    k: Annotated[
        int | None,
        Field(ge=1, le=1000, description="Of pass@k and pass^k; not given: all repeats."),
    ] = None


class EventsQuery(ItemsQuery):
    level: EventLevel | None = None
    since: Since | None = None


CANDIDATES = ApiList("candidates", CandidateRow, "place")
EVENTS = ApiList("events", EventRow, "id")


@routes.get(
    "/runs/{int:run_id}/candidates",
    auth=needs(Scope.READ),
    response=Page[CandidateRow],
    summary="The leaderboard of a run",
)
def list_candidates(
    request: HttpRequest, run_id: RunId, query: Query[CandidatesQuery]
) -> HttpResponse:
    """Best first, each with its uncertainty and its failures. While a run goes on they are ranked
    by the cases that all of them have reached; one that has few has no rank yet. Of another role
    than evaluate: in the order of their birth, without a score."""
    run = get_run_for(caller(request), run_id)
    check_role(run, query.role)
    start = CANDIDATES.place(query.cursor, run_id, query.role) or 0
    board = leaderboard(run, query.k) if query.role == EVALUATE else told_only(run, query.role)
    part = board[start : start + query.limit + 1]
    rows = [candidate_row(row, place) for place, row in enumerate(part, start=start + 1)]
    return CANDIDATES.page(rows, query, run_id, query.role, fields=query.fields)


@routes.get(
    "/runs/{int:run_id}/board",
    auth=needs(Scope.READ),
    response=dict[str, Any],
    summary="What the kind of a run shows",
)
def show_board(request: HttpRequest, run_id: RunId) -> HttpResponse:
    """The findings of its kind, with `kind`. evaluate: `candidates`, the best first. select:
    `combinations`. evolve: `generations`, `best`, `best_fitness`, `total_time`, the keys of the
    evolution guide, and `lineage`; rollout: `missions`, each with its `policies` and its `summary`,
    and `digest`. `lineage` and `digest` are a SHA-256 that is the same for the same seed, however
    the run was executed."""
    run = get_run_for(caller(request), run_id)
    return answer({"kind": run.kind, **kind_of(run).board_record(run)})


@routes.get(
    "/runs/{int:run_id}/samples",
    auth=needs(Scope.READ),
    response=Samples,
    summary="The chart history of a run",
)
def list_samples(request: HttpRequest, run_id: RunId) -> HttpResponse:
    """At most 600 points; each stands for `step_seconds`."""
    series = read_series(get_run_for(caller(request), run_id))
    rows: list[dict[str, Any]] = [
        dict(zip(COLUMNS, bucket.as_row(series.step), strict=True)) for bucket in series.rows
    ]
    page = {"data": rows, "next_cursor": None, "as_of": as_of(), "step_seconds": series.step}
    return answer(page)


@routes.get(
    "/runs/{int:run_id}/events",
    auth=needs(Scope.READ),
    response=Page[EventRow],
    summary="What happened to a run",
)
def list_events(request: HttpRequest, run_id: RunId, query: Query[EventsQuery]) -> HttpResponse:
    """Oldest first."""
    run = get_run_for(caller(request), run_id)
    asked = (run_id, query.level, query.since)
    rows = list_event_rows(
        run,
        query.limit + 1,
        after=EVENTS.place(query.cursor, *asked),
        level=query.level or "",
        since=query.since,
    )
    return EVENTS.page(rows, query, *asked, fields=query.fields)


def check_role(run: Run, role: str) -> None:
    if role not in run.trial_roles:
        known = ", ".join(run.trial_roles)
        raise refuse("role", f"This run has no trials of this role. Choose one of: {known}.")


def candidate_row(row: LeaderboardRow, place: int) -> CandidateRow:
    same = {name: getattr(row, name) for name in CandidateRow.model_fields if hasattr(row, name)}
    named = {
        "candidate": row.key,
        "place": place,
        "prompt": row.prompt_name,
        "separable_from_best": row.separable,
        "bootstrap_low": row.bootstrap.low if row.bootstrap else None,
        "bootstrap_high": row.bootstrap.high if row.bootstrap else None,
        "versus_best": row.versus_best.as_record() if row.versus_best else None,
        "repeats": row.repeats._asdict() if row.repeats else None,
    }
    return CandidateRow(**{**same, **named})
