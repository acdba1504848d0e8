"""What a selection has found, as numbers and as files."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from runs.access import get_run_for
from runs.api.bodies import JSON, YAML, wants_yaml
from runs.api.doors import caller, needs
from runs.api.pages import answer
from runs.api.problems import RequestProblem
from runs.api.router import Routes
from runs.api.routes.runs import RunId
from runs.kinds.base import NoFileError
from runs.kinds.select.facts import SelectionFacts, facts_of
from runs.kinds.select.standing import documents_of, selection_of
from runs.kinds.select.winner import litellm_of
from runs.models import Run, Scope
from runs.roles import Permission
from workers.engine.kinds.select.report import SelectionReport
from workers.engine.kinds.select.table_csv import csv_of
from workers.engine.spec.documents import write_document

routes = Routes(tags=["Results"])

CSV = "text/csv"
LITELLM = {
    "type": "object",
    "properties": {"model_list": {"type": "array", "items": {"type": "object"}}},
    "required": ["model_list"],
}


@routes.get(
    "/runs/{int:run_id}/combinations",
    auth=needs(Scope.READ),
    response=SelectionFacts,
    summary="The combinations of a selection",
    openapi_extra={
        "responses": {
            200: {
                "description": "OK",
                "content": {
                    JSON: {"schema": {"$ref": "#/components/schemas/SelectionFacts"}},
                    CSV: {"schema": {"type": "string"}},
                },
            }
        }
    },
)
def list_combinations(request: HttpRequest, run_id: RunId) -> HttpResponse:
    """Of a run of kind `select`, the best first, with its rounds, and compared on equal data in
    layers. `Accept: text/csv` gives the table."""
    report = report_of(get_run_for(caller(request), run_id))
    if request.headers.get("Accept", "").startswith(CSV):
        return HttpResponse(csv_of(report.rows), content_type=f"{CSV}; charset=utf-8")
    return answer(facts_of(report).model_dump())


@routes.get(
    "/runs/{int:run_id}/litellm",
    auth=needs(Scope.READ, Permission.SEE_ADDRESSES),
    response=dict[str, Any],
    summary="The chosen models for LiteLLM",
    openapi_extra={
        "responses": {
            200: {
                "description": "OK",
                "content": {kind: {"schema": LITELLM} for kind in (JSON, YAML[0])},
            }
        }
    },
)
def show_litellm(request: HttpRequest, run_id: RunId) -> HttpResponse:
    """The winner of a selection, or who leads now, as a `model_list`: a model for each step, with
    the names of environment variables instead of keys. `Accept: application/yaml` gives YAML."""
    run = get_run_for(caller(request), run_id)
    try:
        document = litellm_of(report_of(run).best, documents_of(run))
    except NoFileError as error:
        raise RequestProblem(409, str(error)) from None
    if wants_yaml(request):
        return HttpResponse(write_document(document), content_type=YAML[0])
    return answer(document)


def report_of(run: Run) -> SelectionReport:
    if run.kind != "select":
        told = f"Run {run.pk} is of kind {run.kind}: it has candidates, and no combinations."
        raise RequestProblem(409, told)
    return selection_of(run)
