"""Tells open pages that a run has news: a nudge, never the news itself."""

import asyncio
import logging
from typing import Any

import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings

logger = logging.getLogger(__name__)

NUDGE_MILLISECONDS = 250  # at most 4 nudges a second per run, over all workers

_client: redis.Redis | None = None
_loop: asyncio.AbstractEventLoop | None = None


def send_nudges_on(loop: asyncio.AbstractEventLoop) -> None:
    """Use a running loop for the nudges of this process: async_to_sync would cost a new loop and
    a new connection each."""
    global _loop
    _loop = loop


def group_of(run_id: int) -> str:
    return f"run.{run_id}"


def publish(run_id: int, *, always: bool = False) -> None:
    """Nudge the pages of a run. A nudge may be dropped (the next one or the heartbeat brings the
    same truth) unless `always`, as at the end of a run."""
    try:
        if always or is_due(run_id):
            send(group_of(run_id), {"type": "run.news"})
    except (redis.RedisError, OSError):
        logger.warning("Redis is away: pages of run %s will read by themselves.", run_id)


def is_due(run_id: int) -> bool:
    global _client
    if _client is None:
        _client = redis.Redis.from_url(settings.REDIS_URL)
    return bool(_client.set(f"nudge:{run_id}", 1, px=NUDGE_MILLISECONDS, nx=True))


def send(group: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    if _loop is None or _loop.is_closed():
        async_to_sync(layer.group_send)(group, message)
        return
    asyncio.run_coroutine_threadsafe(layer.group_send(group, message), _loop)
