"""Runs: start, list, show, tag, archive, delete, and what they would take."""

import hashlib
from typing import Annotated, Any

import orjson
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from ninja import P, Query
from ninja.params import HeaderEx
from pydantic import Field

from runs.access import (
    datasets_to_run_on,
    get_configuration_for,
    get_run_for,
    prompts_for,
    runs_for,
)
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, Page, answer
from runs.api.problems import of_problems, refuse
from runs.api.router import Routes
from runs.api.run_shapes import (
    Applied,
    DeleteRunQuery,
    EstimateAnswer,
    Launched,
    RunBody,
    RunChanges,
    RunDeleted,
    RunQuery,
    RunsQuery,
)
from runs.models import Configuration as StoredConfiguration
from runs.models import Scope
from runs.roles import Permission
from runs.selectors.api_lists import list_run_summaries
from runs.selectors.configurations import deleted_text
from runs.selectors.estimates.estimate import estimate
from runs.selectors.runs.organised import with_marks
from runs.selectors.runs.run_summary import RunDetail, RunSummary, run_detail
from runs.selectors.runs.several import answers_kept, goes_along
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.organising import set_note, set_tags
from runs.services.people.sharing import share_run
from runs.services.removing.run_trash import archive_run, delete_run, restore_run
from runs.services.runs import Source, create_run

routes = Routes(tags=["Runs"])
RUNS = ApiList("runs", RunSummary, "id")
ONE_RUN = ApiList("runs", RunDetail, "id")

RunId = Annotated[int, Field(ge=1, le=2**63 - 1, description="The number of a run.")]
LONGEST_KEY = 80  # characters, as in the table


@routes.get("/runs", auth=needs(Scope.READ), response=Page[RunSummary], summary="List runs")
def list_runs(request: HttpRequest, query: Query[RunsQuery]) -> HttpResponse:
    """Newest first. Archived and deleted ones only when asked for."""
    person = caller(request)
    filters = query.filters_of(person)
    asked = (filters, query.name, query.since, query.archived)
    rows = list_run_summaries(
        with_marks(runs_for(person), person),
        query.limit + 1,
        before=RUNS.place(query.cursor, *asked),
        filters=filters,
        is_archived=query.archived,
        name=query.name,
        since=query.since,
    )
    return RUNS.page(rows, query, *asked, fields=query.fields)


@routes.post(
    "/runs",
    auth=needs(Scope.RUN, takes_work=True),
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
    auth=needs(Scope.READ, Permission.LAUNCH, takes_work=True),
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
    "/runs/{int:run_id}",
    auth=needs(Scope.RUN),
    response=Applied,
    summary="Tag, note, share or archive a run",
)
def change_run(request: HttpRequest, run_id: RunId, body: RunChanges) -> Applied:
    """For its owner and operators. 409 for archiving a run that has not ended, and for bringing
    back one whose removal has begun."""
    user = caller(request)
    run = get_run_for(user, run_id, write=True)
    if not body.model_dump(exclude_none=True):
        raise refuse("", "Give tags, note, archived, shared or team.")
    changed = False
    if body.is_about_sharing:
        changed |= share_run(run, user, **body.asked_by(user)._asdict())
    if body.tags is not None:
        changed |= set_tags(run, user, body.tags)
    if body.note is not None:
        changed |= set_note(run, user, body.note)
    if body.archived is not None:
        changed |= (archive_run if body.archived else restore_run)(run, user)
    return Applied(changed=changed)


@routes.delete(
    "/runs/{int:run_id}", auth=needs(Scope.RUN), response=RunDeleted, summary="Delete a run"
)
def remove_run(request: HttpRequest, run_id: RunId, query: Query[DeleteRunQuery]) -> RunDeleted:
    """It leaves the lists at once, and is removed for good after some days (EVALSITE_TRASH_DAYS);
    until then `PATCH` with `archived: false` brings it back. 409 while it has not ended."""
    user = caller(request)
    run = get_run_for(user, run_id, write=True)
    along, kept = goes_along([run]), answers_kept([run])
    changed = False
    if not query.dry_run:
        changed = delete_run(run, user)
        run.refresh_from_db(fields=["remove_after"])
    return RunDeleted(
        applied=not query.dry_run,
        changed=changed,
        remove_after=run.remove_after,
        removed=along,
        cached_answers_kept=kept,
    )


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
        stored = get_configuration_for(caller(request), given, even_deleted=True)
    except Http404:
        told = f"There is no configuration {given!r}. GET /api/v1/configurations lists yours."
        raise refuse("configuration", told) from None
    if stored.remove_after:
        raise refuse("configuration", deleted_text(stored))
    return stored.as_document, stored


def digest_of(body: RunBody) -> str:
    given: Any = body.configuration
    return hashlib.sha256(orjson.dumps(given, option=orjson.OPT_SORT_KEYS)).hexdigest()
