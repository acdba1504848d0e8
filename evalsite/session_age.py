"""Ends sessions 12 hours after the last request and 7 days after the sign-in."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse

STARTED = "session_started"
RENEWED = "session_renewed"
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
        now = int(time.time())
        started = request.session.setdefault(STARTED, now)
        if now - started > settings.SESSION_ABSOLUTE_AGE.total_seconds():
            logout(request)
        elif now - request.session.get(RENEWED, 0) > RENEW_AFTER_SECONDS:
            request.session[RENEWED] = now
