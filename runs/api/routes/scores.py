"""The scores of a run: one by one, folded, as files; and single trials in full."""

from typing import Annotated, Literal

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query
from pydantic import Field, JsonValue

from runs.access import get_run_for
from runs.api.bodies import JSON
from runs.api.doors import caller, needs
from runs.api.files import FILE_FORMS, also_as_files, wanted_form
from runs.api.pages import ApiList, Page, Since, answer
from runs.api.problems import refuse
from runs.api.router import Routes
from runs.api.routes.control import Position
from runs.api.routes.results import ItemsQuery, Role, check_role
from runs.api.routes.runs import RunId
from runs.models import AuditAction, Run, Scope
from runs.run_reports import PARQUET, ScoreFormat, send_run_scores
from runs.selectors.scores.columns import ScoreRow
from runs.selectors.scores.folded import FoldedScore, list_folded_rows
from runs.selectors.scores.rows import TrialDetail, list_score_rows, trial_detail
from runs.selectors.scores.score_records import read_record
from runs.selectors.scores.trials import LARGEST_POSITION, TrialFilters, find_candidate, get_trial
from runs.services.audit import record
from workers.engine.errors import CALL_ERRORS

routes = Routes(tags=["Results"])

Status = Literal[
    "ok", "correct", "wrong", "failed", "cached", "truncated", "filtered", "no_text", "flagged"
]


class ScoresQuery(ItemsQuery):
    role: Role = ""
    status: Status | None = None
    candidate: Annotated[str, Field(max_length=64, description="The key of one candidate.")] = ""
    case: Annotated[
        int | None, Field(ge=0, le=LARGEST_POSITION, description="One row of the dataset.")
    ] = None
    error: Annotated[str, Field(max_length=40, description="A class of errors.")] = ""
    since: Since | None = None
    folded: Annotated[
        bool, Field(description="The repeats of a candidate on a case as one row, a FoldedScore.")
    ] = False
    records: Annotated[
        bool, Field(description="In a file, also what each trial recorded beside its score.")
    ] = False


SCORES = ApiList("scores", ScoreRow, "position")
SCORE_FORMS: dict[str, ScoreFormat] = {**FILE_FORMS, PARQUET: "parquet"}
FOLDED = ApiList("folded scores", FoldedScore, "position")


@routes.get(
    "/runs/{int:run_id}/scores",
    auth=needs(Scope.READ),
    response=Page[ScoreRow] | Page[FoldedScore],
    summary="The results of a run",
    openapi_extra=also_as_files("Page_ScoreRow_", "Page_FoldedScore_", forms=SCORE_FORMS),
)
def list_scores(request: HttpRequest, run_id: RunId, query: Query[ScoresQuery]) -> HttpResponseBase:
    """In the order of the trials. A failed trial has an error and no value. `Accept: text/csv`,
    `Accept: application/x-ndjson` and `Accept: application/vnd.apache.parquet` give all scores that
    match as one file, which also holds the question, what was expected, and what each scorer said;
    `limit`, `cursor`, `fields` and `folded` are for JSON."""
    form = wanted_form(request, SCORE_FORMS)
    run = get_run_for(caller(request), run_id)
    filters = read_filters(run, query)
    if form is not None:
        told = f"scores.{form}{', with records' if query.records else ''}"
        record(AuditAction.EXPORTED, run, told)
        return send_run_scores(request, run, form, filters, query.since, with_records=query.records)
    if query.records:
        raise refuse("records", f"They come in files. Accept one of: {', '.join(SCORE_FORMS)}.")
    api_list, read = (FOLDED, list_folded_rows) if query.folded else (SCORES, list_score_rows)
    asked = (run_id, *query.model_dump(exclude={"limit", "cursor", "fields"}).values())
    after = api_list.place(query.cursor, *asked)
    rows = read(run, filters, after=after, since=query.since, most=query.limit + 1)
    return api_list.page(rows, query, *asked, fields=query.fields)


def read_filters(run: Run, query: ScoresQuery) -> TrialFilters:
    place = None
    if query.candidate and (place := find_candidate(run, query.candidate)) is None:
        raise refuse("candidate", "No candidate of this run has this key.")
    if query.error and query.error not in CALL_ERRORS:
        raise refuse("error", f"Unknown class. Choose one of: {', '.join(CALL_ERRORS)}.")
    if query.role:
        check_role(run, query.role)
    return TrialFilters(
        status=query.status or "",
        candidate=place,
        cases=() if query.case is None else (query.case,),
        error=query.error,
        role=query.role,
    )


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
