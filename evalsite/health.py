"""Two answers for machines: is the process alive, and can it do its work. Nothing else leaks."""

from __future__ import annotations

import logging

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from runs.permissions import requires
from runs.roles import Permission

logger = logging.getLogger(__name__)
ANSWER_WITHIN_SECONDS = 2.0


@requires(Permission.PUBLIC)
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """This process answers."""
    return HttpResponse("ok", content_type="text/plain")


@requires(Permission.PUBLIC)
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Database and Redis answer as well."""
    try:
        _ask_database()
        _ask_redis()
    except (DatabaseError, redis.RedisError, OSError) as error:
        logger.warning("Not ready: %s", type(error).__name__)  # the text may hold an address
        return HttpResponse("not ready", status=503, content_type="text/plain")
    return HttpResponse("ready", content_type="text/plain")


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_redis() -> None:
    timeouts = {
        "socket_timeout": ANSWER_WITHIN_SECONDS,
        "socket_connect_timeout": ANSWER_WITHIN_SECONDS,
    }
    with redis.Redis.from_url(settings.REDIS_URL, **timeouts) as client:
        client.ping()
