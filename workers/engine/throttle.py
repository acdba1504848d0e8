"""The throttle decides what flies: a call waits here until every quota has room for it.

Permits come in blocks from a `Permits`, and a finished call hands its permit straight to the next
one waiting, so the hot path needs no round trip. Nobody sleeps while holding a permit.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from workers.engine.clock import Clock
from workers.engine.permits import Grant, Permits, Quota

SPACING_SECONDS = 0.003  # between exchanges: releases that come together travel together
PATIENCE_SECONDS = 0.1  # between asking for more while some are held: those keep the pipe full
RENEW_SECONDS = 0.5  # holdings are repeated this often: keeps the lease, hears of others' needs


@dataclass(slots=True)
class Pool:
    """The calls of this process that fall under the same quotas."""

    quotas: tuple[Quota, ...]
    waiters: deque[asyncio.Future[None]] = field(default_factory=deque)
    held: int = 0
    told: int = 0  # how many we last said to hold
    surplus: int = 0  # how many to give back, because other holders have less than their share
    exchanged: float = 0.0
    retry_at: float = 0.0

    @property
    def is_paced(self) -> bool:
        """A permit under a rate is good for one call only."""
        return any(quota.requests_per_minute is not None for quota in self.quotas)


class Throttle:
    def __init__(self, permits: Permits, clock: Clock) -> None:
        self._permits = permits
        self._clock = clock
        self._pools: dict[tuple[Quota, ...], Pool] = {}
        self._holding: Counter[str] = Counter()
        self._in_use: dict[str, int] = {}
        self._gates: dict[str, float] = {}
        self._wake = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def slot(self, quotas: tuple[Quota, ...]) -> AsyncIterator[None]:
        """Wait for a permit, hold it for the time of a call."""
        await self._acquire(quotas)
        try:
            yield
        finally:
            self._release(self._pools[quotas])

    def pause(self, key: str, seconds: float) -> None:
        """Start no call under a key for a while, as when a provider says Retry-After."""
        until = self._clock.monotonic() + seconds
        self._gates[key] = max(self._gates.get(key, 0.0), until)

    def in_flight(self, key: str) -> int:
        """Calls under a key over the whole cluster, as last heard."""
        return max(self._in_use.get(key, 0), self._holding[key])

    async def close(self) -> None:
        if self._keeper:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)

    async def _acquire(self, quotas: tuple[Quota, ...]) -> None:
        pool = self._pools.get(quotas)
        if pool is None:
            pool = self._pools[quotas] = Pool(quotas)
        waiter = asyncio.get_running_loop().create_future()
        pool.waiters.append(waiter)
        self._ensure_keeper()
        self._wake.set()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._release(pool)  # granted in the very moment of the cancellation
            raise

    def _release(self, pool: Pool) -> None:
        if self._may_hand_over(pool) and self._admit(pool):
            return
        pool.held -= 1
        pool.surplus = max(0, pool.surplus - 1)
        for quota in pool.quotas:
            self._holding[quota.key] -= 1
        self._wake.set()

    def _may_hand_over(self, pool: Pool) -> bool:
        if pool.surplus or pool.is_paced:
            return False
        return not self._gates or self._gate_seconds(pool, self._clock.monotonic()) <= 0

    def _admit(self, pool: Pool) -> bool:
        """Let the next waiter go. False if nobody waits."""
        while pool.waiters:
            waiter = pool.waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return True
        return False

    def _gate_seconds(self, pool: Pool, now: float) -> float:
        return max(self._gates.get(quota.key, 0.0) for quota in pool.quotas) - now

    def _ensure_keeper(self) -> None:
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.get_running_loop().create_task(self._keep())

    async def _keep(self) -> None:
        """Exchange permits whenever something changed, or when it is time to ask again."""
        while True:
            pause = self._until_next()
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            for pool in list(self._pools.values()):
                await self._exchange(pool)
            await self._clock.sleep(SPACING_SECONDS)

    def _until_next(self) -> float | None:
        now = self._clock.monotonic()
        times = [
            max(pool.retry_at, now + self._gate_seconds(pool, now))
            for pool in self._pools.values()
            if pool.waiters
        ]
        times += [pool.exchanged + RENEW_SECONDS for pool in self._pools.values() if pool.held]
        return max(0.0, min(times) - now) if times else None

    async def _exchange(self, pool: Pool) -> None:
        now = self._clock.monotonic()
        gate_seconds = self._gate_seconds(pool, now)
        want = 0 if gate_seconds > 0 else len(pool.waiters)
        is_due = pool.held != pool.told or now - pool.exchanged >= RENEW_SECONDS
        if not is_due and (not want or now < pool.retry_at):
            self._forget_if_idle(pool)
            return
        before = pool.held
        grant = await self._permits.exchange(
            pool.quotas, tuple(self._holding[quota.key] for quota in pool.quotas), want
        )
        pool.held += grant.permits
        pool.told = before + grant.permits  # what was released during the exchange is news
        pool.surplus = grant.surplus
        pool.exchanged = self._clock.monotonic()
        pool.retry_at = pool.exchanged + retry_seconds(pool, grant, want)
        for quota, in_use in zip(pool.quotas, grant.in_use, strict=True):
            self._holding[quota.key] += grant.permits
            self._in_use[quota.key] = in_use
        self._spread(pool, grant.permits)

    def _spread(self, pool: Pool, permits: int) -> None:
        for _ in range(permits):
            if not self._admit(pool):
                self._release(pool)  # whoever wanted it was cancelled meanwhile

    def _forget_if_idle(self, pool: Pool) -> None:
        if not pool.held and not pool.told and not pool.waiters:
            self._pools.pop(pool.quotas, None)
            for quota in pool.quotas:
                if not self._holding[quota.key]:
                    self._in_use.pop(quota.key, None)


def retry_seconds(pool: Pool, grant: Grant, want: int) -> float:
    """How long to wait before asking again for what was not granted."""
    if grant.permits >= want:
        return 0.0
    if pool.held and not pool.is_paced:
        return max(grant.retry_seconds, PATIENCE_SECONDS)
    return grant.retry_seconds
