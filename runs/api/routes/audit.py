"""The audit log: who did what to what, from where."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import Field

from runs.access import audit_for
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, Fields, Moment, Page, PageQuery
from runs.api.router import Routes
from runs.models import AuditAction, Scope
from runs.roles import Permission
from runs.selectors.audit import AuditFilters, AuditRow, list_audit_rows

routes = Routes(tags=["Audit log"])
AUDIT = ApiList("audit", AuditRow, "id")


class AuditQuery(PageQuery):
    person: Annotated[
        str, Field(max_length=150, description="A part of the name, or how a token begins.")
    ] = ""
    action: AuditAction | None = None
    about: Annotated[
        str, Field(max_length=200, description="A part of the name of what it was done to.")
    ] = ""
    since: Annotated[Moment, Field(description="From then on.")] | None = None
    until: Annotated[Moment, Field(description="Before then.")] | None = None
    fields: Fields = ""


@routes.get(
    "/audit",
    auth=needs(Scope.READ, Permission.READ_AUDIT),
    response=Page[AuditRow],
    summary="List what people did",
)
def list_actions(request: HttpRequest, query: Query[AuditQuery]) -> HttpResponse:
    """Newest first: sign-ins, refusals, keys, endpoints, launches, exports, roles, deletions and
    so on. For administrators."""
    asked = (query.person, query.action, query.about, query.since, query.until)
    filters = AuditFilters(query.person, query.action or "", query.about, query.since, query.until)
    rows = list_audit_rows(
        audit_for(caller(request)),
        filters,
        query.limit + 1,
        before=AUDIT.place(query.cursor, *asked),
    )
    return AUDIT.page(rows, query, *asked, fields=query.fields)
