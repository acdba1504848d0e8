"""A form of more than 20 MB is not read. Its page says so, instead of Django's bare 400."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render

logger = logging.getLogger(__name__)

View = TypeVar("View", bound=Callable[..., HttpResponse])


def when_too_large(answer: Callable[[HttpRequest], HttpResponse]) -> Callable[[View], View]:
    """Declare what a view answers to a form that was too large to be read."""

    def declare(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if getattr(request, "is_too_large", False):
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
        if getattr(view, "csrf_exempt", False) or not is_too_large(request):
            return None  # the API says it itself
        logger.warning("%s: a form of %s bytes is not read.", request.path, size_of(request))
        if not getattr(view, "answers_large_bodies", False):
            return render(request, "413.html", status=413)
        request.is_too_large = True  # type: ignore[attr-defined]
        # The token was in the form. `when_too_large` runs nothing that could change something.
        request.csrf_processing_done = True  # type: ignore[attr-defined]
        return None


def is_too_large(request: HttpRequest) -> bool:
    """Whether the fields are. Files are not counted: they are kept on disk, and judged later."""
    if request.method != "POST" or size_of(request) <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
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
