"""Results of many calls in the order of what was given, with the errors of those that failed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from workers.engine.batch_sizes import AdaptiveSlots, BatchSize
from workers.engine.errors import CallError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Kept(list[Result | None]):
    """A list in the order of what was given, None where something failed. `errors` says what, by
    position."""

    def __init__(self, results: Iterable[Result | None], errors: Mapping[int, CallError]) -> None:
        super().__init__(results)
        self.errors = dict(errors)


async def keep_all(
    work: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    at_once: int | None = None,
    size: BatchSize | None = None,
) -> Kept[Result]:
    """Every item is tried. A CallError is kept; anything else is a mistake of the caller. `size`:
    as many at once as latency tells."""
    if at_once is not None and at_once < 0:
        raise ValueError(f"max_workers is {at_once}. Give 1 or more, or None for no limit.")
    given = list(items)
    slots = asyncio.Semaphore(at_once or len(given) or 1)
    adaptive = None if size is None else AdaptiveSlots(size, time.monotonic)
    errors: dict[int, CallError] = {}

    async def attempt(position: int, item: Item) -> Result | None:
        async with adaptive.hold() if adaptive else slots:
            try:
                return await work(item)
            except CallError as error:
                errors[position] = error
                return None

    results = await asyncio.gather(*(attempt(place, item) for place, item in enumerate(given)))
    return Kept(results, errors)
