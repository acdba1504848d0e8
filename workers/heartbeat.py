"""Says every few seconds that this worker lives, for the pages: nothing is decided by it."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress

import redis.asyncio
from redis.exceptions import RedisError

from runs.code_version import code_version
from runs.selectors.system.processes import peak_megabytes
from runs.selectors.worker_beats import ALIVE_SECONDS, BEATS, STORAGE_FULL_MARK, facts_key

BEAT_SECONDS = 2.0


class Heartbeat:
    def __init__(
        self,
        client: "redis.asyncio.Redis",
        name: str,
        is_storage_full: Callable[[], bool] = lambda: False,
    ) -> None:
        self._client = client
        self._name = name
        self._is_storage_full = is_storage_full
        self._facts = {"version": code_version(), "started": time.time()}

    async def run(self) -> None:
        while True:
            with suppress(RedisError, OSError):  # the pages say that Redis is away
                await self._beat()
            await asyncio.sleep(BEAT_SECONDS)

    async def _beat(self) -> None:
        seconds, _ = await self._client.time()
        async with self._client.pipeline() as pipe:
            pipe.zadd(BEATS, {self._name: seconds})
            pipe.zremrangebyscore(BEATS, 0, seconds - ALIVE_SECONDS)
            facts = {**self._facts, "peak_megabytes": peak_megabytes()}
            pipe.set(facts_key(self._name), json.dumps(facts), ex=ALIVE_SECONDS)
            if self._is_storage_full():
                pipe.set(STORAGE_FULL_MARK, self._name, ex=ALIVE_SECONDS)
            await pipe.execute()

    async def stop(self) -> None:
        """Told at once, so that a worker that was stopped does not count for some seconds more."""
        with suppress(RedisError, OSError):
            await self._client.zrem(BEATS, self._name)
        await self._client.aclose()
