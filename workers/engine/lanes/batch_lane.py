"""The batch lane: items of callers that come together travel in one call."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from workers.engine.clock import Clock
from workers.engine.ending_tasks import end_tasks
from workers.engine.errors import CallError, LaneClosed, MalformedAnswer

Item = TypeVar("Item")
Result = TypeVar("Result")

CLOSED = "The batch lane was closed, so this item was not sent or its result not waited for."


class Batch(Generic[Item, Result]):
    """Items by who waits for their results, and the task that waits for more, then sends them."""

    def __init__(self) -> None:
        self.items: dict[asyncio.Future[Result], Item] = {}  # in the order they came
        self.task: asyncio.Task[None]


class BatchLane(Generic[Item, Result]):
    """A batch is sent when it has `most` items, or `wait_seconds` after its first one. Batches do
    not wait for each other.

    Equal items are all sent: the cache and its single flight, in front of the lane, merge them.
    """

    def __init__(
        self,
        send: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        most: int,
        wait_seconds: float,
        clock: Clock,
    ) -> None:
        self._send = send
        self._most = most
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._open: Batch[Item, Result] | None = None
        self._batches: set[Batch[Item, Result]] = set()  # with those under way
        self._is_closed = False

    @property
    def is_idle(self) -> bool:
        """Nobody waits for a result."""
        return not self._batches

    async def call(self, item: Item) -> Result:
        """The item's own result, or what went wrong with its whole batch."""
        if self._is_closed:
            raise LaneClosed(CLOSED)
        batch = self._open or self._begin()
        waiting: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        batch.items[waiting] = item
        if len(batch.items) >= self._most:
            self._open = None
            batch.task.cancel()  # it waits for more items
            batch.task = asyncio.create_task(self._send_now(batch))
        try:
            return await waiting
        finally:
            self._leave(batch, waiting)

    async def close(self) -> None:
        """Cancel the calls under way. Whoever waits for their results gets LaneClosed."""
        self._is_closed = True
        tasks = [batch.task for batch in self._batches]
        for batch in self._batches:
            fail(batch.items, LaneClosed(CLOSED))
        await end_tasks(tasks)

    def _begin(self) -> Batch[Item, Result]:
        batch = self._open = Batch[Item, Result]()
        batch.task = asyncio.create_task(self._send_later(batch))
        self._batches.add(batch)
        return batch

    def _leave(self, batch: Batch[Item, Result], waiting: asyncio.Future[Result]) -> None:
        """An item whose caller was cancelled is not sent, or its result is dropped."""
        del batch.items[waiting]
        if not batch.items:
            batch.task.cancel()  # it has ended, unless every caller was cancelled
            self._batches.discard(batch)
            self._open = None if self._open is batch else self._open

    async def _send_later(self, batch: Batch[Item, Result]) -> None:
        await self._clock.sleep(self._wait_seconds)
        self._open = None  # it is this batch: the task of one that is full was cancelled
        await self._send_now(batch)

    async def _send_now(self, batch: Batch[Item, Result]) -> None:
        waiting, items = list(batch.items), list(batch.items.values())
        try:
            results = await self._send(items)
            if len(results) != len(items):
                raise MalformedAnswer(f"{len(results)} results came back for {len(items)} items.")
        except asyncio.CancelledError:
            fail(waiting, CallError("The call that took this item along was cancelled."))
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the callers' to see
            fail(waiting, error)
            return
        for one, result in zip(waiting, results, strict=True):
            if not one.done():
                one.set_result(result)


def fail(waiting: Iterable[asyncio.Future[Any]], error: Exception) -> None:
    for one in waiting:
        if not one.done():
            one.set_exception(error)
