"""Files of a run that is a choice among combinations."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from runs.access import get_run_for
from runs.permissions import requires
from runs.reports.combinations import NothingChosenError, litellm_of
from runs.roles import Permission
from runs.selectors.selection import NotAChoiceError, documents_of, report_if_choice
from workers.engine.documents import write_document
from workers.engine.selection_csv import csv_of


@requires(Permission.SEE)
@require_safe
def run_combinations_csv(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id)
    try:
        text = csv_of(report_if_choice(run).rows)
    except NotAChoiceError as error:
        return nothing(error)
    return as_file(text, "text/csv", f"run-{run.pk}-combinations.csv")


@requires(Permission.SEE)
@require_safe
def run_litellm(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id)
    try:
        document = litellm_of(report_if_choice(run).best, documents_of(run))
    except (NotAChoiceError, NothingChosenError) as error:
        return nothing(error)
    return as_file(write_document(document), "application/yaml", f"run-{run.pk}-litellm.yaml")


def nothing(why: Exception) -> HttpResponse:
    return HttpResponse(f"{why}\n", status=409, content_type="text/plain; charset=utf-8")


def as_file(text: str, kind: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=f"{kind}; charset=utf-8", headers=headers)
