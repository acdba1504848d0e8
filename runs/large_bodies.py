"""What is answered to a body that was too large to be read, in the format of the door."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render

from runs.body_limits import ORDINARY, VISITOR, RefusedBody, limit_for, sender_of

View = TypeVar("View", bound=Callable[..., HttpResponse])


def when_too_large(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[View], View]:
    """Declare what a view answers to a form that was too large to be read."""

    def declare(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if refused_of(request):
                return answer(request)
            return view(request, *args, **kwargs)

        guarded.answers_large_bodies = True  # type: ignore[attr-defined]
        return cast(View, guarded)

    return declare


class LargeBodyMiddleware:
    """Before the CSRF check, which reads the form first and fails on a large one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *_: Any
    ) -> HttpResponse | None:
        refused = judge(request)
        if refused is None:
            return None
        request.refused_body = refused  # type: ignore[attr-defined]
        request._mark_post_parse_error()  # type: ignore[attr-defined]  # nobody reads the form now
        if not getattr(view, "answers_large_bodies", False):
            return render(request, "413.html", {"sentence": refused.sentence}, status=413)
        # The token was in the form. `when_too_large` runs nothing that could change something.
        request.csrf_processing_done = True  # type: ignore[attr-defined]
        return None


def refused_of(request: HttpRequest) -> RefusedBody | None:
    return getattr(request, "refused_body", None)


def judge(request: HttpRequest) -> RefusedBody | None:
    """What our web server refused already (evalsite/web), or what is too large all the same."""
    scope, size = getattr(request, "scope", {}), size_of(request)
    refused = scope["refused_body"] if "refused_body" in scope else judge_length(request, size)
    if refused is None and size > ORDINARY.bytes and has_large_fields(request):
        return RefusedBody(ORDINARY, size)
    return cast(RefusedBody | None, refused)


def judge_length(request: HttpRequest, size: int) -> RefusedBody | None:
    if size <= VISITOR.bytes:
        return None
    limit = limit_for(sender_of(request))
    return RefusedBody(limit, size) if size > limit.bytes else None


def has_large_fields(request: HttpRequest) -> bool:
    """Fields are kept in memory. Files are not counted: they are on disk, and judged later."""
    if request.method != "POST":
        return False
    try:
        request.POST  # noqa: B018 - reads it
    except RequestDataTooBig:
        return True
    except UnreadablePostError:
        return False  # the client went away; the next reader finds out
    return False


def size_of(request: HttpRequest) -> int:
    """Bytes, as the client says."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() else 0
