"""Ends sessions 12 hours after the last request and 7 days after the sign-in; gives a session
another key when the role of its person has changed."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse

from runs.roles import role_of

STARTED = "session_started"
RENEWED = "session_renewed"
ROLE = "session_role"
RENEW_AFTER_SECONDS = 300  # a row is written this often, not once per request


class SessionAgeMiddleware:
    """Renews a session that is used and ends one that is too old, however much it is used."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            self._keep_or_end(request)
        return self.get_response(request)

    @staticmethod
    def _keep_or_end(request: HttpRequest) -> None:
        if is_too_old(request.session):
            logout(request)
            return
        now, role = int(time.time()), str(role_of(request.user) or "")
        request.session.setdefault(STARTED, now)
        if request.session.setdefault(ROLE, role) != role:
            request.session.cycle_key()  # a key that leaked before must not gain the new rights
            request.session[ROLE] = role
        if now - request.session.get(RENEWED, 0) > RENEW_AFTER_SECONDS:
            request.session[RENEWED] = now


def start_session(session: SessionBase) -> None:
    """At the sign-in, from which the seven days count."""
    session[STARTED] = int(time.time())


def is_too_old(session: SessionBase) -> bool:
    started: float = session.get(STARTED, time.time())
    return time.time() - started > settings.SESSION_ABSOLUTE_AGE.total_seconds()
