"""The shared cache of answers, read in bulk and written together with the scores."""

import asyncio
from collections.abc import Mapping, Sequence

from runs.selectors.cache import find_replies
from workers.database_thread import in_database
from workers.engine.records import Reply, Request
from workers.recorder import Recorder


async def read_cache(keys: Sequence[str]) -> Mapping[str, Reply]:
    replies: Mapping[str, Reply] = await in_database(find_replies, list(keys))
    return replies


class DatabaseCache:
    """The cache of one run: what it pays for is kept for all."""

    def __init__(self, run_id: int, recorder: Recorder) -> None:
        self._run_id = run_id
        self._recorder = recorder
        self._wanted: list[str] = []
        self._next: asyncio.Task[Mapping[str, Reply]] | None = None
        self._reading = asyncio.Lock()

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, Reply]:
        """What is wanted while a query is under way is asked for in one query with the rest: judges
        and later steps look up one key at a time, hundreds a second."""
        self._wanted += keys
        if self._next is None:
            self._next = asyncio.create_task(self._read())
        return await asyncio.shield(self._next)  # others wait for it, too

    async def _read(self) -> Mapping[str, Reply]:
        async with self._reading:
            keys, self._wanted, self._next = self._wanted, [], None
            return await read_cache(keys)

    def put(self, key: str, request: Request, reply: Reply) -> None:
        self._recorder.keep(self._run_id, key, request, reply)
