"""Slots of a run for work that calls no model: what computes takes its place among the calls.

One budget for both, over all workers, since the run's own quota gives them; a rate or an allowance
of calls is not asked, because no call is made.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from workers.engine.ending_tasks import end_tasks
from workers.engine.throttling.permits import Quota
from workers.engine.throttling.throttle import Throttle

LEND_SECONDS = 0.02  # to wait for slots that are left over, before the work begins without them

WorkQuotas = Callable[[], tuple[Quota, ...]]
"""Those of the run, as they are now: the run's own is the last."""


class Slots:
    """Without a throttle everything may begin at once: a target that is only looked at."""

    def __init__(self, throttle: Throttle | None = None, quotas: WorkQuotas | None = None) -> None:
        self._throttle = throttle
        self._quotas = quotas

    @asynccontextmanager
    async def hold(self, most: int = 1, alone: str = "") -> AsyncIterator[int]:
        """Wait for one slot, and take up to `most` if others are left over. Gives how many it has.
        `alone`: work of the same name is not done at once, in any worker."""
        if self._throttle is None or self._quotas is None:
            yield most
            return
        async with AsyncExitStack() as held:
            quotas = work_quotas(self._quotas(), alone)
            await held.enter_async_context(self._throttle.slot(quotas))
            lent = await self._borrow(self._throttle, most - 1, held) if most > 1 else 0
            yield 1 + lent

    async def _borrow(self, throttle: Throttle, most: int, held: AsyncExitStack) -> int:
        assert self._quotas is not None  # there is a throttle
        quotas = work_quotas(self._quotas(), "")
        slots = [throttle.slot(quotas) for _ in range(most)]
        waiting = {asyncio.create_task(slot.__aenter__()): slot for slot in slots}
        try:
            await asyncio.wait(waiting, timeout=LEND_SECONDS)
        finally:
            await end_tasks(waiting)
            got = [slot for task, slot in waiting.items() if is_there(task)]
            for slot in got:
                held.push_async_exit(slot)
        return len(got)


def is_there(task: "asyncio.Task[object]") -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def work_quotas(quotas: tuple[Quota, ...], alone: str) -> tuple[Quota, ...]:
    plain = tuple(
        quota._replace(requests_per_minute=None, tokens_per_minute=None, allowance=None)
        for quota in quotas
    )
    return (Quota(f"{quotas[-1].key}/{alone}", 1), *plain) if alone else plain
