"""Every refusal as RFC 9457 problem JSON: what was wrong, where, and what is allowed."""

import logging
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

import orjson
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError
from pydantic import BaseModel

from runs.body_limits import ORDINARY, RefusedBody
from runs.services.datasets.storing import DatasetError, NameTakenError, NoColumnError
from runs.services.prompts import PromptTakenError
from runs.services.removing.archiving import InUseError
from runs.services.runs import OtherRequestError
from workers.engine.errors import ConfigurationError, Problem

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
NO_HEADERS: Mapping[str, str] = {}
BUSY_SECONDS = 2  # after which a database that did not answer is asked again

NOT_FOUND = "There is nothing at this address, or it is not yours."
NO_ENTRY = "Send Authorization: Bearer TOKEN with a token that is neither expired nor revoked."
OUR_FAULT = "Something went wrong on our side. The log of the site tells more under this id."
TOO_LARGE = RefusedBody(ORDINARY, None).sentence
UNREADABLE = "The body is not JSON in UTF-8."


class ProblemPart(BaseModel):
    path: str
    message: str


class ProblemReport(BaseModel):
    """RFC 9457. `problems` lists everything that was wrong, each with its place in the request."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    request_id: str
    problems: list[ProblemPart] = []


class RequestProblem(Exception):
    """A request that is answered with a problem report."""

    def __init__(
        self,
        status: int,
        detail: str,
        problems: Iterable[Problem] = (),
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        self.status, self.detail = status, detail
        self.problems, self.headers = list(problems), headers
        super().__init__(detail)


def refuse(path: str, message: str, status: int = 422) -> RequestProblem:
    """One thing at one place."""
    return RequestProblem(status, message, [Problem(path, message)])


def report(request: HttpRequest, problem: RequestProblem) -> HttpResponse:
    body = ProblemReport(
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        detail=problem.detail,
        request_id=getattr(request, "request_id", ""),
        problems=[ProblemPart(path=path, message=said) for path, said in problem.problems],
    )
    return HttpResponse(
        orjson.dumps(body.model_dump()),
        status=problem.status,
        content_type=MEDIA_TYPE,
        headers=dict(problem.headers),
    )


def of_problems(problems: list[Problem], status: int = 422) -> RequestProblem:
    detail = problems[0].message if len(problems) == 1 else f"{len(problems)} problems."
    return RequestProblem(status, detail, problems)


def of_dataset(error: DatasetError) -> RequestProblem:
    return of_problems([Problem(f"rows.{line}", message) for line, message in error.problems])


def of_fields(error: ValidationError) -> RequestProblem:
    """What Django says about the fields of a model."""
    names = {"new_key": "api_key", "more_urls": "base_urls", "model_names": "models"}
    if not hasattr(error, "error_dict"):
        return of_problems([Problem("", message) for message in error.messages])
    return of_problems(
        [
            Problem(names.get(name, name), message)
            for name, messages in error.message_dict.items()
            for message in messages
        ]
    )


def of_http(error: HttpError) -> RequestProblem:
    """Ninja wraps what the parser raised; ours says more."""
    if isinstance(error.__cause__, RequestProblem):
        return error.__cause__
    if isinstance(error.__cause__, RequestDataTooBig):
        return RequestProblem(413, TOO_LARGE)
    return RequestProblem(error.status_code, str(error))


TRANSLATIONS: dict[type[Exception], Callable[..., RequestProblem]] = {
    RequestProblem: lambda error: error,
    ConfigurationError: lambda error: of_problems(error.problems),
    DatasetError: of_dataset,
    NoColumnError: lambda error: refuse("expected", error.problems[0].message),
    NameTakenError: lambda error: refuse("name", error.problems[0].message, 409),
    PromptTakenError: lambda error: refuse("name", str(error), 409),
    InUseError: lambda error: RequestProblem(409, str(error)),
    ValidationError: of_fields,
    OtherRequestError: lambda error: refuse("Idempotency-Key", str(error)),
    Http404: lambda error: RequestProblem(404, NOT_FOUND),
    PermissionDenied: lambda error: RequestProblem(403, str(error) or "You may not do this."),
    AuthenticationError: lambda error: RequestProblem(
        401, NO_ENTRY, headers={"WWW-Authenticate": "Bearer"}
    ),
    HttpError: of_http,
    RequestDataTooBig: lambda error: RequestProblem(413, TOO_LARGE),
    SuspiciousOperation: lambda error: RequestProblem(400, "The request cannot be read."),
    OperationalError: lambda error: RequestProblem(
        503,
        "The database does not answer. Try again in a moment.",
        headers={"Retry-After": str(BUSY_SECONDS)},
    ),
}


def answer_with_problems(api: NinjaAPI) -> None:
    """Whatever a route raises becomes a report; what nobody foresaw is logged in full."""
    for kind, translate in TRANSLATIONS.items():
        api.add_exception_handler(kind, _reporter(translate))
    api.add_exception_handler(Exception, _report_unforeseen)


def _reporter(
    translate: Callable[..., RequestProblem],
) -> Callable[[HttpRequest, Any], HttpResponse]:
    def answer(request: HttpRequest, error: Exception) -> HttpResponse:
        return report(request, translate(error))

    return answer


def _report_unforeseen(request: HttpRequest, error: Any) -> HttpResponse:
    number = getattr(request, "request_id", "")
    logger.error("API request %s failed: %s", number, request.path, exc_info=error)
    return report(request, RequestProblem(500, OUR_FAULT))
