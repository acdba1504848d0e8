"""Response headers that Django and django-csp do not set: middleware around every answer."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseForbidden

UNUSED_FEATURES = ("camera", "geolocation", "microphone", "payment", "usb", "browsing-topics")
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in UNUSED_FEATURES)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class SecurityHeadersMiddleware:
    """Keeps pages of signed-in people out of caches, and other sites' forms out altogether."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._refusal(request) or self.get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        user = getattr(request, "user", None)
        if user is not None and user.is_authenticated:
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    @staticmethod
    def _refusal(request: HttpRequest) -> HttpResponse | None:
        """Browsers say where a request comes from; a change asked for by another site is none."""
        if request.method in SAFE_METHODS or request.headers.get("Sec-Fetch-Site") != "cross-site":
            return None
        return HttpResponseForbidden(
            "This request was made by another web site, so it was refused. Open the page here"
            " and do it again.",
            content_type="text/plain",
        )
