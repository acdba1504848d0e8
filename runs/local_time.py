"""Pages show times in the zone that the person has chosen; files and the API stay in UTC."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from runs.selectors.profiles import zone_of


class LocalTimeMiddleware:
    """After the sign-in wall: whose page it is, is known."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with timezone.override(zone_of(request.user)):
            return self.get_response(request)
