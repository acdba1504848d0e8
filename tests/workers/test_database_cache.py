"""The cache as workers read it: keys that are wanted at the same time go into one query."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from workers import database_cache
from workers.database_cache import DatabaseCache
from workers.engine.records import Reply
from workers.recorder import Recorder

NOBODY = cast(Recorder, None)  # nothing is kept here


class Slow:
    """A database that answers when it is let."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.may_answer = asyncio.Event()

    async def read(self, keys: Sequence[str]) -> dict[str, Reply]:
        self.asked.append(list(keys))
        await self.may_answer.wait()
        return {key: Reply(key, 1.0) for key in keys if key != "missing"}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    slow = Slow()
    monkeypatch.setattr(database_cache, "read_cache", slow.read)
    return slow


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_keys_wanted_while_another_query_is_under_way_go_together(slow: Slow) -> None:
    cache = DatabaseCache(1, NOBODY)
    first = asyncio.create_task(cache.get_many(["a"]))
    await turns()
    later: list[Any] = [asyncio.create_task(cache.get_many([key])) for key in ("b", "missing", "c")]
    await turns()
    assert slow.asked == [["a"]]
    later[0].cancel()  # the others wait for the same query
    slow.may_answer.set()
    assert (await first)["a"].text == "a"
    assert "missing" not in await later[1]
    assert (await later[2])["c"].text == "c"
    assert slow.asked == [["a"], ["b", "missing", "c"]]
    assert (await cache.get_many(["d"]))["d"].text == "d"
