"""The audit log: who did what to what from where, for administrators."""

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import audit_for
from runs.forms.filters import read_audit_filters, read_whole_number
from runs.models import AuditAction
from runs.permissions import requires
from runs.reports.audit_files import send_audit
from runs.reports.export import Format
from runs.roles import Permission
from runs.selectors.audit import list_audit
from runs.services.audit import Subject, record


@requires(Permission.READ_AUDIT)
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    filters = read_audit_filters(request.GET)
    page = list_audit(
        audit_for(request.user),
        filters,
        older_than=read_whole_number(request.GET.get("before")),
        newer_than=read_whole_number(request.GET.get("after")),
    )
    context = {"section": "people", "page": page, "filters": filters, "actions": AuditAction}
    return render(request, "people/audit.html", context)


@requires(Permission.READ_AUDIT)
@require_safe
def audit_csv(request: HttpRequest) -> StreamingHttpResponse:
    return send_filtered(request, "csv")


@requires(Permission.READ_AUDIT)
@require_safe
def audit_jsonl(request: HttpRequest) -> StreamingHttpResponse:
    return send_filtered(request, "jsonl")


def send_filtered(request: HttpRequest, form: Format) -> StreamingHttpResponse:
    """All rows, or those that the filters in the address leave."""
    filters = read_audit_filters(request.GET)
    record(AuditAction.EXPORTED, Subject("audit"), f"audit.{form}")
    return send_audit(request, audit_for(request.user), filters, form)
