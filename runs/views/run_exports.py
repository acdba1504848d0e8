"""Files of a run: its scores; of a choice among combinations also its table and its winner."""

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from runs.access import get_run_for
from runs.forms.filters import read_trial_filters
from runs.kinds.select.standing import NotAChoiceError, documents_of, report_if_choice
from runs.permissions import requires
from runs.reports.combinations import NothingChosenError, litellm_of
from runs.reports.score_files import send_scores
from runs.roles import Permission
from workers.engine.kinds.select.table_csv import csv_of
from workers.engine.spec.documents import write_document


@requires(Permission.SEE)
@require_safe
def run_scores_csv(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    """All scores, or those that the filters in the address leave."""
    run = get_run_for(request.user, run_id)
    return send_scores(request, run, "csv", read_trial_filters(request.GET))


@requires(Permission.SEE)
@require_safe
def run_scores_jsonl(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    run = get_run_for(request.user, run_id)
    return send_scores(request, run, "jsonl", read_trial_filters(request.GET))


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
