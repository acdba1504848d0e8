"""Says which door a request came in by, and from where, for what it changes; and has refusals of
people who are signed in recorded."""

import logging
from collections.abc import Callable

from django.contrib.auth.models import AbstractBaseUser
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from runs.models import AuditDoor
from runs.services.audit import Origin, Subject, coming_from, record_refusal

logger = logging.getLogger(__name__)


class DoorMiddleware:
    """Outside the permission check, so that its refusals are seen."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        address = request.META.get("REMOTE_ADDR", "")
        with coming_from(Origin(door_of(request), address, request)):
            response = self.get_response(request)
            if response.status_code in {403, 404}:
                note_refusal(request, response.status_code)
        return response


def door_of(request: HttpRequest) -> AuditDoor:
    if request.path.startswith("/api/"):
        return AuditDoor.API
    return AuditDoor.ADMIN if request.path.startswith("/admin/") else AuditDoor.PAGE


def note_refusal(request: HttpRequest, status: int) -> None:
    """Not of addresses that do not exist: a 404 counts where it hides an object."""
    person, match = request.user, request.resolver_match
    if not isinstance(person, AbstractBaseUser) or match is None:
        return
    if status == 404 and not match.kwargs:
        return
    try:
        record_refusal(person, Subject("page", request.path), f"{request.method}, {status}")
    except DatabaseError:  # a refusal must not become an error
        logger.exception("A refusal could not be recorded.")
