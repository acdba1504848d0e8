"""Gives every request a number that its answer, its problem report and our log line share."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

ID_BYTES = 10


class RequestIdMiddleware:
    """Outermost, so that refusals of the other middleware have one too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.request_id = secrets.token_hex(ID_BYTES)  # type: ignore[attr-defined]
        response = self.get_response(request)
        response.headers["X-Request-ID"] = request.request_id  # type: ignore[attr-defined]
        return response
