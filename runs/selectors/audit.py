"""What people did, newest first: for the page, the API and the files of administrators."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime

from django.db.models import Q, QuerySet

from runs.models import AuditEntry
from runs.selectors.paging import NEWEST_FIRST, Page, place, read_page
from runs.selectors.pickable import Pickable

PAGE_SIZE = 50
ROWS_AT_ONCE = 1000  # of a file; between two parts the database is free


@dataclass(frozen=True, slots=True)
class AuditFilters:
    person: str = ""  # a part of the name, or the beginning of a token
    action: str = ""
    about: str = ""  # a part of the name of what it was done to
    since: datetime | None = None
    until: datetime | None = None  # without that moment

    @property
    def are_set(self) -> int:
        return sum(1 for field in fields(self) if getattr(self, field.name))


class AuditRow(Pickable):
    """One action. `actor_id` is null for nobody signed in, as on the command line; `token` is how
    the API token begins that was used."""

    id: int
    at: datetime
    action: str
    actor: str
    actor_id: int | None
    token: str
    subject_kind: str
    subject_id: int | None
    subject: str
    detail: str
    door: str
    address: str
    request_id: str


def every_entry() -> QuerySet[AuditEntry]:
    """For the host's operator, who can read the database anyway."""
    return AuditEntry.objects.all()


def matching(entries: QuerySet[AuditEntry], filters: AuditFilters) -> QuerySet[AuditEntry]:
    if filters.person:
        by = Q(actor__icontains=filters.person) | Q(token__startswith=filters.person)
        entries = entries.filter(by)
    if filters.action:
        entries = entries.filter(action=filters.action)
    if filters.about:
        entries = entries.filter(subject__icontains=filters.about)
    if filters.since:
        entries = entries.filter(at__gte=filters.since)
    if filters.until:
        entries = entries.filter(at__lt=filters.until)
    return entries


def list_audit(
    entries: QuerySet[AuditEntry],
    filters: AuditFilters,
    *,
    older_than: int | None = None,
    newer_than: int | None = None,
) -> Page[AuditEntry]:
    return read_page(
        matching(entries, filters),
        NEWEST_FIRST,
        PAGE_SIZE,
        after=place(older_than),
        before=place(newer_than),
    )


def list_audit_rows(
    entries: QuerySet[AuditEntry], filters: AuditFilters, most: int, *, before: int | None
) -> list[AuditRow]:
    found = NEWEST_FIRST.walk(matching(entries, filters), place(before))
    return [AuditRow(**row) for row in found.values(*AuditRow.model_fields)[:most]]


def count_audit_rows(entries: QuerySet[AuditEntry], filters: AuditFilters) -> int:
    return matching(entries, filters).count()


def every_audit_row(entries: QuerySet[AuditEntry], filters: AuditFilters) -> Iterator[AuditRow]:
    """A part at a time, however many there are."""
    before = None
    while rows := list_audit_rows(entries, filters, ROWS_AT_ONCE, before=before):
        yield from rows
        before = rows[-1].id
