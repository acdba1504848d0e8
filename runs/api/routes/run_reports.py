"""The report of a run, for people and for CI servers."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from runs.access import get_run_for
from runs.api.bodies import JSON
from runs.api.doors import caller, needs
from runs.api.files import wanted_form
from runs.api.openapi import PROBLEM
from runs.api.pages import answer
from runs.api.router import Routes
from runs.api.routes.runs import RunId
from runs.models import AuditAction, Scope
from runs.run_reports import REPORT_FILES, report_of_run
from runs.services.audit import record

routes = Routes(tags=["Results"])

FORMS = {file.media_type: name for name, file in REPORT_FILES.items()}


@routes.get(
    "/runs/{int:run_id}/report",
    auth=needs(Scope.READ),
    response=dict[str, Any],
    summary="The report of a run",
    openapi_extra={
        "responses": {
            200: {
                "description": "OK",
                "content": {
                    JSON: {"schema": {"type": "object"}},
                    **{kind: {"schema": {"type": "string"}} for kind in FORMS},
                },
            },
            406: PROBLEM,
        }
    },
)
def show_run_report(request: HttpRequest, run_id: RunId) -> HttpResponse:
    """Score, candidates and errors as JSON. `Accept: text/html` gives one file that needs nothing
    else, with the leaderboard, errors, the cases answered worst and the configuration; `Accept:
    text/markdown` what a pull request takes, `Accept: application/xml` JUnit."""
    name = wanted_form(request, FORMS)
    run = get_run_for(caller(request), run_id)
    if name is None:
        return answer(report_of_run(run).as_record())
    record(AuditAction.EXPORTED, run, name)
    file = REPORT_FILES[name]
    headers = {"Content-Disposition": f'attachment; filename="run-{run.pk}-{name}"'}
    kind = f"{file.media_type}; charset=utf-8"
    return HttpResponse(file.write(run), content_type=kind, headers=headers)
