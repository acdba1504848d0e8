"""What a run brought: candidates, scores, trials, samples and events."""

from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query
from pydantic import BaseModel, Field, JsonValue

from runs.access import get_run_for
from runs.api.bodies import JSON
from runs.api.doors import caller, needs
from runs.api.openapi import PROBLEM
from runs.api.pages import ApiList, Fields, Page, PageQuery, Since, answer, as_of
from runs.api.problems import RequestProblem, refuse
from runs.api.router import Routes
from runs.api.routes.control import Position
from runs.api.routes.runs import RunId
from runs.models import AuditAction, EventLevel, Run, Scope
from runs.reports.export import Format
from runs.reports.score_files import MEDIA_TYPES, send_scores
from runs.selectors.api_lists import EventRow, list_event_rows
from runs.selectors.pickable import Pickable
from runs.selectors.runs.leaderboard import LeaderboardRow, leaderboard, told_only
from runs.selectors.runs.series import COLUMNS, read_series
from runs.selectors.scores.columns import ScoreRow
from runs.selectors.scores.rows import TrialDetail, list_score_rows, trial_detail
from runs.selectors.scores.score_records import read_record
from runs.selectors.scores.trials import TrialFilters, find_candidate, get_trial
from runs.services.audit import record
from workers.engine.errors import CALL_ERRORS
from workers.engine.records import EVALUATE

routes = Routes(tags=["Results"])


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
    value_failures_wrong: float | None
    cached: int
    latency_p50: float | None
    latency_p95: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost_per_thousand: float | None
    separable_from_best: bool


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
Status = Literal["ok", "correct", "wrong", "failed", "cached", "truncated", "filtered", "no_text"]


class CandidatesQuery(ItemsQuery):
    role: Role = EVALUATE


class ScoresQuery(ItemsQuery):
    role: Role = ""
    status: Status | None = None
    candidate: Annotated[str, Field(max_length=64, description="The key of one candidate.")] = ""
    error: Annotated[str, Field(max_length=40, description="A class of errors.")] = ""
    since: Since | None = None
    records: Annotated[
        bool, Field(description="In a file, also what each trial recorded beside its score.")
    ] = False


class EventsQuery(ItemsQuery):
    level: EventLevel | None = None
    since: Since | None = None


CANDIDATES = ApiList("candidates", CandidateRow, "place")
SCORES = ApiList("scores", ScoreRow, "position")
EVENTS = ApiList("events", EventRow, "id")
SCORE_FILES: dict[str, Format] = {kind: form for form, kind in MEDIA_TYPES.items()}


@routes.get(
    "/runs/{int:run_id}/candidates",
    auth=needs(Scope.READ),
    response=Page[CandidateRow],
    summary="The leaderboard of a run",
)
def list_candidates(
    request: HttpRequest, run_id: RunId, query: Query[CandidatesQuery]
) -> HttpResponse:
    """Best first, each with its uncertainty and its failures. Of another role than evaluate: in the
    order of their birth, without a score."""
    run = get_run_for(caller(request), run_id)
    check_role(run, query.role)
    start = CANDIDATES.place(query.cursor, run_id, query.role) or 0
    board = leaderboard(run) if query.role == EVALUATE else told_only(run, query.role)
    part = board[start : start + query.limit + 1]
    rows = [candidate_row(row, place) for place, row in enumerate(part, start=start + 1)]
    return CANDIDATES.page(rows, query, run_id, query.role, fields=query.fields)


@routes.get(
    "/runs/{int:run_id}/scores",
    auth=needs(Scope.READ),
    response=Page[ScoreRow],
    summary="The results of a run",
    openapi_extra={
        "responses": {
            200: {
                "description": "OK",
                "content": {
                    JSON: {"schema": {"$ref": "#/components/schemas/Page_ScoreRow_"}},
                    **{kind: {"schema": {"type": "string"}} for kind in SCORE_FILES},
                },
            },
            406: PROBLEM,
        }
    },
)
def list_scores(request: HttpRequest, run_id: RunId, query: Query[ScoresQuery]) -> HttpResponseBase:
    """In the order of the trials. A failed trial has an error and no value. `Accept: text/csv` and
    `Accept: application/x-ndjson` give all scores that match as one file, which also holds the
    question, what was expected, and what each scorer said; `limit`, `cursor` and `fields` are for
    JSON."""
    form = wanted_form(request)
    run = get_run_for(caller(request), run_id)
    place = None
    if query.candidate and (place := find_candidate(run, query.candidate)) is None:
        raise refuse("candidate", "No candidate of this run has this key.")
    if query.error and query.error not in CALL_ERRORS:
        raise refuse("error", f"Unknown class. Choose one of: {', '.join(CALL_ERRORS)}.")
    if query.role:
        check_role(run, query.role)
    filters = TrialFilters(
        status=query.status or "", candidate=place, error=query.error, role=query.role
    )
    if form is not None:
        record(
            AuditAction.EXPORTED, run, f"scores.{form}{', with records' if query.records else ''}"
        )
        return send_scores(request, run, form, filters, query.since, with_records=query.records)
    if query.records:
        raise refuse("records", f"They come in files. Accept one of: {', '.join(SCORE_FILES)}.")
    asked = (run_id, query.status, query.candidate, query.error, query.role, query.since)
    rows = list_score_rows(
        run,
        filters,
        after=SCORES.place(query.cursor, *asked),
        since=query.since,
        most=query.limit + 1,
    )
    return SCORES.page(rows, query, *asked, fields=query.fields)


@routes.get(
    "/runs/{int:run_id}/scores/{int:position}/record",
    auth=needs(Scope.READ),
    response=JsonValue,
    summary="What a trial recorded beside its score",
)
def show_record(request: HttpRequest, run_id: RunId, position: Position) -> HttpResponse:
    """An episode, a segment: whatever its kind of run keeps. 404 if the trial has no record."""
    record = read_record(get_run_for(caller(request), run_id), position)
    if record is None:
        raise Http404(position)
    return HttpResponse(record, content_type=JSON)


@routes.get(
    "/runs/{int:run_id}/trials/{int:position}",
    auth=needs(Scope.READ),
    response=TrialDetail,
    summary="One trial in full",
)
def show_trial(request: HttpRequest, run_id: RunId, position: Position) -> HttpResponse:
    """Its prompt as it was sent, the answer, every attempt, and what each scorer said."""
    score = get_trial(get_run_for(caller(request), run_id), position)
    if score is None:
        raise Http404(position)
    return answer(trial_detail(score).model_dump())


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


def wanted_form(request: HttpRequest) -> Format | None:
    """The kind of file that the caller accepts rather than JSON; None: JSON."""
    known = [JSON, *SCORE_FILES]
    kind = request.get_preferred_type(known)
    if kind is None:
        raise RequestProblem(406, f"Scores come as one of: {', '.join(known)}.")
    if (form := SCORE_FILES.get(kind)) is None:
        return None
    for name in ("limit", "cursor", "fields"):
        if name in request.GET:
            told = "A file has every score that matches, with every column"
            raise refuse(name, f"{told}: leave {name} out, or accept {JSON}.")
    return form


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
    }
    return CandidateRow(**{**same, **named})
