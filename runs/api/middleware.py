"""At the edge of the API: refusals that no route made are problem reports too."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from runs.api.problems import MEDIA_TYPE, NOT_FOUND, TOO_LARGE, RequestProblem, report
from runs.large_bodies import refused_of

ROOT = "/api/v1/"


class ApiMiddleware:
    """Of requests under /api/v1 only."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not request.path.startswith(ROOT):
            return response
        if response.status_code >= 400 and response.headers.get("Content-Type") != MEDIA_TYPE:
            response = translate(request, response)
        if rate := getattr(request, "rate", None):
            for name, value in rate.headers.items():
                response.headers[name] = value
        return response


def translate(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Of Django's own pages: no route, another method, another site's form."""
    status = response.status_code
    allowed = response.headers.get("Allow", "")
    details = {
        404: NOT_FOUND,
        405: f"This address does not take {request.method}. Allowed: {allowed}.",
        403: "The request was refused: it came from another site.",
        413: refused.sentence if (refused := refused_of(request)) else TOO_LARGE,
    }
    told = details.get(status, response.reason_phrase)
    answer = report(request, RequestProblem(status, told))
    for name, value in response.headers.items():  # among them those that protect every answer
        if name != "Content-Length":
            answer.headers.setdefault(name, value)
    return answer
