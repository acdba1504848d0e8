"""Files of a run: its scores, and what its kind adds."""

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from runs.access import get_run_for
from runs.forms.filters import read_trial_filters
from runs.kinds import kind_of
from runs.kinds.base import NoFileError, RunFile
from runs.models import AuditAction
from runs.permissions import requires
from runs.roles import Permission, check_permission
from runs.run_reports import REPORT_FILES, ScoreFormat, send_run_scores
from runs.services.audit import record


@requires(Permission.SEE)
@require_safe
def run_scores_csv(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    return send_filtered(request, run_id, "csv")


@requires(Permission.SEE)
@require_safe
def run_scores_jsonl(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    return send_filtered(request, run_id, "jsonl")


@requires(Permission.SEE)
@require_safe
def run_scores_parquet(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    return send_filtered(request, run_id, "parquet")


@requires(Permission.SEE)
@require_safe
def run_file(request: HttpRequest, run_id: int, file_name: str) -> HttpResponse:
    """A report, or what only runs of its kind can be downloaded as."""
    run = get_run_for(request.user, run_id)
    file = REPORT_FILES.get(file_name) or kind_of(run).files.get(file_name)
    if file is None:
        return nothing(f"Run {run.pk} is of kind {run.kind}: it has no {file_name}.")
    if isinstance(file, RunFile):
        check_permission(request.user, file.permission)
    try:
        text = file.write(run)
    except NoFileError as error:
        return nothing(str(error))
    record(AuditAction.EXPORTED, run, file_name)
    return as_file(text, file.media_type, f"run-{run.pk}-{file_name}")


def send_filtered(request: HttpRequest, run_id: int, form: ScoreFormat) -> StreamingHttpResponse:
    """All scores, or those that the filters in the address leave; `records=1`: with records."""
    run = get_run_for(request.user, run_id)
    with_records = request.GET.get("records") == "1"
    filters = read_trial_filters(request.GET)
    record(AuditAction.EXPORTED, run, f"scores.{form}{', with records' if with_records else ''}")
    return send_run_scores(request, run, form, filters, with_records=with_records)


def nothing(why: str) -> HttpResponse:
    return HttpResponse(f"{why}\n", status=409, content_type="text/plain; charset=utf-8")


def as_file(text: str, kind: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=f"{kind}; charset=utf-8", headers=headers)
