"""Runs: start, list, show, and what they would take."""

import hashlib
from typing import Annotated, Any

import orjson
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from ninja import P, Query
from ninja.params import HeaderEx
from pydantic import BaseModel, Field, SkipValidation

from runs.access import (
    datasets_to_run_on,
    get_configuration_for,
    get_run_for,
    prompts_for,
    runs_for,
)
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, Fields, Page, PageQuery, Since, answer
from runs.api.problems import of_problems, refuse
from runs.api.router import Routes
from runs.api.sharing_shapes import SharingChanges, SharingNow
from runs.models import Configuration as StoredConfiguration
from runs.models import RunState, Scope
from runs.roles import Permission
from runs.selectors.api_lists import list_run_summaries
from runs.selectors.estimates.estimate import estimate
from runs.selectors.runs.run_summary import RunDetail, RunSummary, run_detail
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.people.sharing import share_run
from runs.services.runs import Source, create_run
from workers.engine.spec.configuration import Configuration, Strict

routes = Routes(tags=["Runs"])
RUNS = ApiList("runs", RunSummary, "id")
ONE_RUN = ApiList("runs", RunDetail, "id")

RunId = Annotated[int, Field(ge=1, le=2**63 - 1, description="The number of a run.")]
LONGEST_KEY = 80  # characters, as in the table


class RunBody(Strict):
    """The name of a stored configuration, or a configuration itself."""

    # The engine reads it: its messages say what is allowed, and its schema is the one shown.
    configuration: Annotated[str, Field(max_length=120)] | SkipValidation[Configuration]


class Launched(BaseModel):
    id: int
    state: RunState


class RunsQuery(PageQuery):
    state: RunState | None = None
    kind: Annotated[str, Field(max_length=20)] = ""
    name: Annotated[str, Field(max_length=120, description="A part of the name.")] = ""
    since: Since | None = None
    fields: Fields = ""


class RunQuery(BaseModel):
    fields: Fields = ""


class EstimateAnswer(BaseModel):
    """What a run would take. Nothing is started. `trials` and `calls_to_send` are at most: who
    chooses among combinations may need as few as `trials_low` and `calls_low`. `cases` are
    those taken of the dataset's `rows`; `expected` is the column that answers are compared with.
    `held_out` cases come beside those: the best is scored on them (of kind mutate, the trained
    policy and two simpler ones), in `confirming` trials more.
    `proposals`, at most, are those of the calls that ask a model for new candidates, and
    `proposals_cost` is their part of the cost. `judge_calls`, at most, and `judge_cost` are those
    of scorers that ask a model, apart from the others."""

    candidates: int
    cases: int
    rows: int
    expected: str
    repeats: int
    held_out: int
    confirming: int
    trials_low: int
    trials: int
    calls_cached: int
    calls_low: int
    calls_to_send: int
    proposals: int
    judge_calls: int
    max_concurrent: int | None
    seconds_low: float
    seconds_high: float
    limited_by: str
    cost: str
    proposals_cost: str
    judge_cost: str
    over_budget: list[str]
    basis: str


@routes.get("/runs", auth=needs(Scope.READ), response=Page[RunSummary], summary="List runs")
def list_runs(request: HttpRequest, query: Query[RunsQuery]) -> HttpResponse:
    """Newest first."""
    filters = (query.state, query.kind, query.name, query.since)
    rows = list_run_summaries(
        runs_for(caller(request)),
        query.limit + 1,
        before=RUNS.place(query.cursor, *filters),
        state=query.state or "",
        kind=query.kind,
        name=query.name,
        since=query.since,
    )
    return RUNS.page(rows, query, *filters, fields=query.fields)


@routes.post(
    "/runs",
    auth=needs(Scope.RUN),
    response={202: Launched},
    summary="Start a run",
    openapi_extra={
        "responses": {
            202: {"headers": {"Location": {"schema": {"type": "string"}, "required": True}}}
        }
    },
)
def start_run(
    request: HttpRequest,
    body: RunBody,
    idempotency_key: HeaderEx[
        str,
        P(
            alias="Idempotency-Key",
            max_length=LONGEST_KEY,
            pattern=r"^[!-~]*$",
            description="The same key and body: the same run.",
        ),
    ] = "",
) -> HttpResponse:
    """Accepts a run, which then goes on by itself. The same `Idempotency-Key` with the same body
    gives the same run, however often it is sent; with another body it is refused."""
    document, stored = document_of(request, body)
    digest = digest_of(body) if idempotency_key else ""
    run = create_run(caller(request), document, source=Source(idempotency_key, digest, stored))
    launched = {"id": run.pk, "state": run.state}
    return answer(launched, 202, Location=f"/api/v1/runs/{run.pk}")


@routes.post(
    "/runs/estimate",
    auth=needs(Scope.READ, Permission.LAUNCH),
    response=EstimateAnswer,
    summary="Estimate a run",
)
def estimate_run(request: HttpRequest, body: RunBody) -> EstimateAnswer:
    """Calls, cached calls, money, time and the limit that binds. Nothing is started."""
    document, _ = document_of(request, body)
    person = caller(request)
    found = estimate(document, datasets_to_run_on(person), person, prompts_for(person))
    if found.problems:
        raise of_problems(found.problems)
    costs = {
        "cost": found.cost_text,
        "proposals_cost": found.proposals_cost_text,
        "judge_cost": found.judge_cost_text,
    }
    same = EstimateAnswer.model_fields.keys() - costs.keys()
    return EstimateAnswer(**{name: getattr(found, name) for name in same}, **costs)


@routes.get("/runs/{int:run_id}", auth=needs(Scope.READ), response=RunDetail, summary="Show a run")
def show_run(request: HttpRequest, run_id: RunId, query: Query[RunQuery]) -> HttpResponse:
    """A run has ended exactly when `ended` is not null. `ran_on` is as it was at the launch."""
    found = run_detail(get_run_for(caller(request), run_id))
    return answer(found.model_dump(include=ONE_RUN.chosen(query.fields)))


@routes.patch(
    "/runs/{int:run_id}", auth=needs(Scope.RUN), response=SharingNow, summary="Share a run"
)
def share_with(request: HttpRequest, run_id: RunId, body: SharingChanges) -> SharingNow:
    """With everybody, with a team that you are in, or with nobody; for its owner and operators."""
    run = get_run_for(caller(request), run_id, write=True)
    wanted = body.asked_by(caller(request))
    changed = share_run(run, caller(request), **wanted._asdict())
    team = wanted.team.name if wanted.team else None
    return SharingNow(changed=changed, shared=wanted.is_shared, team=team)


@routes.get(
    "/runs/{int:run_id}/live",
    auth=needs(Scope.READ),
    response={200: dict[str, Any], 304: None},
    url_name="run_live",
    summary="Poll the numbers of a run",
)
def run_live(request: HttpRequest, run_id: RunId) -> HttpResponse:
    """What the run's page shows, for clients without a socket. Send the `ETag` of the answer
    before as `If-None-Match`: while nothing changed the answer is an empty 304."""
    run = get_run_for(caller(request), run_id)
    etag = f'"{run.pk}-{run.version}-{run.state}"'
    if request.headers.get("If-None-Match") == etag:
        return HttpResponseNotModified(headers={"ETag": etag})
    return answer(take_snapshot(run), ETag=etag)


def document_of(
    request: HttpRequest, body: RunBody
) -> tuple[dict[str, Any], StoredConfiguration | None]:
    given: Any = body.configuration
    if not isinstance(given, str):
        return given, None
    try:
        stored = get_configuration_for(caller(request), given)
    except Http404:
        told = f"There is no configuration {given!r}. GET /api/v1/configurations lists yours."
        raise refuse("configuration", told) from None
    return stored.as_document, stored


def digest_of(body: RunBody) -> str:
    given: Any = body.configuration
    return hashlib.sha256(orjson.dumps(given, option=orjson.OPT_SORT_KEYS)).hexdigest()
