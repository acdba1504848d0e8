"""Static files served by WhiteNoise from where they lie, with addresses that change with them."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

A_YEAR = "max-age=31536000, public, immutable"


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise is untyped
    """WhiteNoise, answering with whole bodies: its file iterators would be read in a thread."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        answer = static_file.get_response(request.method, request.META)
        body = b""
        if answer.file is not None:
            with answer.file:
                body = answer.file.read()
        response = HttpResponse(body, status=int(answer.status))
        del response["Content-Type"]
        for name, value in answer.headers:
            response[name] = value
        if body:  # the listed length is that of the start; somebody may have edited the file
            response["Content-Length"] = str(len(body))
        if request.GET.get("v"):
            response["Cache-Control"] = A_YEAR
        return response


class VersionedStaticFilesStorage(StaticFilesStorage):
    """Addresses with a digest of the content, so that browsers may keep the file."""

    def url(self, name: str | None, *args: Any, **kwargs: Any) -> str:
        address = super().url(name, *args, **kwargs)
        digest = _digest_of(name) if name and not settings.DEBUG else ""
        return f"{address}?v={digest}" if digest else address


@lru_cache(maxsize=1000)
def _digest_of(name: str) -> str:
    found = finders.find(name)
    if not isinstance(found, str) or not Path(found).is_file():
        return ""
    return hashlib.sha256(Path(found).read_bytes()).hexdigest()[:12]
