"""Puts the client's own address into every request, also behind a proxy."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from evalsite.proxies import client_address


class ClientAddressMiddleware:
    """REMOTE_ADDR is the client's from here on, so that nobody else reads a header."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        peer = request.META.get("REMOTE_ADDR", "")
        told = request.META.get("HTTP_X_FORWARDED_FOR", "")
        request.META["REMOTE_ADDR"] = client_address(peer, told, settings.TRUSTED_PROXIES)
        return self.get_response(request)
