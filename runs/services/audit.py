"""Adds rows to the audit table: who did what to what, from where.

A service calls `record` in the transaction of its change, so that neither is there without the
other. Where the person came from is not an argument: whoever opens a door says it once, see
`runs/doors.py` and `runs/management/site_command.py`.
"""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import NamedTuple

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Model
from django.http import HttpRequest
from django.utils.timezone import now

from evalsite.log_lines import write_out_controls
from runs.models import ApiToken, AuditAction, AuditDoor, AuditEntry
from runs.roles import Person

REFUSALS_PER_HOUR = 60  # that are recorded of one person: a scanner cannot fill the table
LAST_REFUSAL = "; further refusals within the hour are not recorded"

LONGEST = {
    "actor": 150,
    "subject": 200,
    "detail": 300,
    "address": 45,
}  # characters, as in the table


class Origin(NamedTuple):
    """Where an action comes from."""

    door: AuditDoor
    address: str = ""
    request: HttpRequest | None = None  # its person is known only after the sign-in wall


class Subject(NamedTuple):
    """What an action was done to, where it is no single row, or its own name must not be kept."""

    kind: str
    name: str = ""
    id: int | None = None


THE_SITE = Origin(AuditDoor.SITE)
_origin: ContextVar[Origin] = ContextVar("origin", default=THE_SITE)


@contextmanager
def coming_from(origin: Origin) -> Iterator[None]:
    """What is recorded inside came from there."""
    before = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(before)


def record(
    action: AuditAction,
    subject: Model | Subject | None = None,
    detail: str = "",
    *,
    actor: Person | None = None,
) -> None:
    """One row. `actor`: who did it, by default whoever came through the door. Name no secret: a
    key, a token's text, or an address with a path that lets its reader in."""
    origin = _origin.get()
    person = actor or _person_of(origin)
    about = _subject_of(subject)
    AuditEntry.objects.create(
        action=action.value,
        actor_id=person.pk if person else None,
        actor=_plain(person.get_username() if person else _nobody(origin), "actor"),
        token=_token_of(origin),
        subject_kind=about.kind,
        subject_id=about.id,
        subject=_plain(about.name, "subject"),
        detail=_plain(detail, "detail"),
        door=origin.door.value,
        address=_plain(origin.address, "address"),
        request_id=getattr(origin.request, "request_id", ""),
    )


def record_refusal(person: Person, subject: Subject, detail: str) -> bool:
    """Somebody who is signed in asked for what they may not have. False: not recorded, they had
    many of those within the hour."""
    recent = AuditEntry.objects.filter(
        actor_id=person.pk, at__gt=now() - timedelta(hours=1), action=AuditAction.DENIED
    )
    left = REFUSALS_PER_HOUR - recent.count()
    if left <= 0:
        return False
    record(AuditAction.DENIED, subject, detail + (LAST_REFUSAL if left == 1 else ""), actor=person)
    return True


def _person_of(origin: Origin) -> AbstractBaseUser | None:
    user = getattr(origin.request, "user", None)
    return user if isinstance(user, AbstractBaseUser) else None


def _token_of(origin: Origin) -> str:
    token = getattr(origin.request, "auth", None)
    return token.prefix if isinstance(token, ApiToken) else ""


def _nobody(origin: Origin) -> str:
    """On the command line it is at least an account of the machine."""
    if origin.door != AuditDoor.COMMAND:
        return ""
    try:
        return f"shell account {pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:  # as in a container
        return f"shell account {os.getuid()}"


def _subject_of(subject: Model | Subject | None) -> Subject:
    if subject is None:
        return Subject("")
    if isinstance(subject, Subject):
        return subject
    return Subject(subject._meta.model_name or "", str(subject), subject.pk)


def _plain(text: str, column: str) -> str:
    """One line without control characters, as long as its column: names are people's text."""
    line, longest = write_out_controls(text), LONGEST[column]
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
