"""The throttle decides what flies: a call waits here until every quota has room for it.

Permits come in blocks from a `Permits`, and a finished call hands its permit straight to the next
one waiting, so the hot path needs no round trip. Nobody sleeps while holding a permit.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from workers.engine.batch_sizes import LatencyByFlight, Queueing
from workers.engine.clock import Clock
from workers.engine.ending_tasks import end_tasks
from workers.engine.errors import CallError
from workers.engine.throttling.permits import Demand, Grant, LimitChange, Permits, Quota
from workers.engine.throttling.pools import Permit, Pool

SPACING_SECONDS = 0.003  # between exchanges: releases that come together travel together
PATIENCE_SECONDS = 0.25  # between asking for more while some are held: those keep the pipe full
LONGEST_WAIT_SECONDS = 2.0  # without asking again: a person may have reset the breaker meanwhile
DRAIN_LOOK_SECONDS = 0.05
STALE_SECONDS = 5.0  # after this long without an exchange, a permit is not handed on
RENEW_SECONDS = 0.5  # holdings are repeated this often: keeps the lease, hears of others' needs

Places = tuple[tuple[str, str], ...]
OnChange = Callable[[LimitChange, set[str]], None]
"""Told of a changed limit and of the groups (runs) of this process that it concerns."""
OnRefusals = Callable[[str, int, CallError], None]
"""Told of the key under which calls are refused, how many were in a row, and the last error."""
OnQueueing = Callable[[str, Queueing, set[str]], None]
"""Told of the key under which calls wait at the server, and of the groups (runs) that make them."""
Guess = Callable[[], tuple[int, int]]
"""The tokens, and billionths of a dollar, that a call is expected to use."""


def nothing_expected() -> tuple[int, int]:
    return 0, 0


class Throttle:
    def __init__(
        self,
        permits: Permits,
        clock: Clock,
        on_change: OnChange = lambda change, groups: None,
        on_refusals: OnRefusals = lambda key, count, error: None,
        on_queueing: OnQueueing = lambda key, found, groups: None,
        spacing_seconds: float = SPACING_SECONDS,
    ) -> None:
        self._permits = permits
        self._clock = clock
        self._on_change = on_change
        self._on_refusals = on_refusals
        self._on_queueing = on_queueing
        self._spacing_seconds = spacing_seconds
        self._pools: dict[Places, Pool] = {}
        self._holding: Counter[tuple[str, str]] = Counter()
        self._in_use: dict[str, int] = {}
        self._gates: dict[str, float] = {}
        self._latencies: dict[str, LatencyByFlight] = {}  # of keys whose server may let calls wait
        self._troubles: dict[str, str] = {}  # the last one of calls under keys with a breaker
        self._told_queueing: dict[tuple[str, str], int] = {}  # the size, by key and group
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()  # somebody waits and nothing flies: the spacing is over
        self._keeper: asyncio.Task[None] | None = None
        self._is_draining = False

    def slot(self, quotas: tuple[Quota, ...], guess: Guess = nothing_expected) -> "Slot":
        """`async with` it: waits for a permit and holds it for the time of a call."""
        return Slot(self, quotas, guess)

    def end_call(self, pool: Pool, permit: Permit) -> None:
        """Take a permit back, with what became of its call."""
        pool.settle(permit)
        if permit.trouble:
            self._troubles |= {q.key: permit.trouble for q in pool.quotas if q.is_guarded}
        if pool.report.is_urgent:
            self._close_gate(pool)
            self._wake.set()
        self._release(pool)

    def note_latency(self, pool: Pool, in_flight: int, seconds: float) -> None:
        """Of an answer to a call that started as one of so many."""
        key = pool.quotas[-1].key
        found = self._latencies.setdefault(key, LatencyByFlight())
        found.note(in_flight, seconds)
        queueing = found.queueing()
        if queueing is None:
            return
        pool.report.bears = queueing.size
        told, size = self._told_queueing, queueing.size
        # Told again where it became much clearer: at first few calls were made a few at a time.
        groups = {g for g in self._groups_under(key) if told.get((key, g), 2 * size) >= 2 * size}
        if groups:
            told.update({(key, group): size for group in groups})
            self._on_queueing(key, queueing, groups)

    def change(self, quota: Quota) -> None:
        """A limit was changed by a person: it holds for the next call, also of those who wait."""
        for pool in self._pools.values():
            if any(one.place == quota.place and one != quota for one in pool.quotas):
                pool.quotas = tuple(quota if q.place == quota.place else q for q in pool.quotas)
                pool.retry_at, pool.spent = 0.0, ""
                self._wake.set()

    def spent(self, key: str) -> str:
        """What of the allowance under a key is used up, "calls" or "dollars", as last heard."""
        pools = [pool for pool in self._pools.values() if pool.spent]
        return next((p.spent for p in pools if any(q.key == key for q in p.quotas)), "")

    def is_broken(self, key: str) -> bool:
        """Whether the breaker under a key is open, as last heard, and no probe of ours flies."""
        pools = [pool for pool in self._pools.values() if pool.quotas[-1].key == key]
        return any(pool.is_open for pool in pools) and not self.held_here(key)

    def in_flight(self, key: str) -> int:
        """Calls under a key over the whole cluster, as last heard."""
        return max(self._in_use.get(key, 0), self.held_here(key))

    def held_here(self, key: str) -> int:
        """Calls under a key that this process makes."""
        return sum(held for (name, _), held in self._holding.items() if name == key)

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def count_held(self) -> int:
        """Calls that this process makes, or may make at once."""
        return sum(pool.held for pool in self._pools.values())

    async def drain(self, seconds: float) -> None:
        """Let no more calls start, and wait for those in flight, but not for ever."""
        self._is_draining = True
        end = self._clock.monotonic() + seconds
        while self.count_held() and self._clock.monotonic() < end:
            await self._clock.sleep(DRAIN_LOOK_SECONDS)

    async def close(self) -> None:
        if self._keeper:
            await end_tasks([self._keeper])

    async def give_back(self) -> None:
        """After `close`: tell at once what ended since the last exchange. Without it the last
        permits of a process are free for others only when their lease has run out."""
        for pool in list(self._pools.values()):
            await self._exchange(pool)

    def _close_gate(self, pool: Pool) -> None:
        """Nobody here calls this model until the provider wants to hear from us again; the
        others learn it with the next exchange."""
        if pool.report.pause_seconds:
            key = pool.quotas[-1].key
            until = self._clock.monotonic() + pool.report.pause_seconds
            self._gates[key] = max(self._gates.get(key, 0.0), until)

    async def acquire(self, quotas: tuple[Quota, ...], guess: Guess) -> Pool:
        places = tuple(quota.place for quota in quotas)
        pool = self._pools.get(places)
        if pool is None:
            pool = self._pools[places] = Pool(quotas)
        pool.quotas = quotas  # a limit that was changed holds for all who wait
        if not pool.tokens_each:  # until answers tell
            pool.tokens_each, pool.nanos_each = guess()
        waiter = asyncio.get_running_loop().create_future()
        pool.waiters.append(waiter)
        self._ensure_keeper()
        self._wake.set()
        if not pool.held:
            self._hurry.set()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                pool.refund()
                self._release(pool)  # granted in the very moment of the cancellation
            raise
        return pool

    def _release(self, pool: Pool) -> None:
        if self._may_hand_over(pool) and pool.admit():
            return
        pool.held -= 1
        pool.surplus = max(0, pool.surplus - 1)
        for quota in pool.quotas:
            self._holding[quota.place] -= 1
        self._wake.set()

    def _may_hand_over(self, pool: Pool) -> bool:
        if pool.surplus or pool.is_paced or self._is_draining:
            return False
        if pool.report.refused or pool.report.troubled:
            return False  # the next call may fail, too: all processes count that together, first
        now = self._clock.monotonic()
        if now - pool.exchanged > STALE_SECONDS:
            return False  # we were frozen: others may have been given what we hold
        return not self._gates or self._gate_seconds(pool, now) <= 0

    def _gate_seconds(self, pool: Pool, now: float) -> float:
        return max(self._gates.get(quota.key, 0.0) for quota in pool.quotas) - now

    def _ensure_keeper(self) -> None:
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.get_running_loop().create_task(self._keep())

    async def _keep(self) -> None:
        """Exchange permits whenever something changed, or when it is time to ask again."""
        while True:
            await wait_for(self._wake, self._until_next())
            self._wake.clear()
            self._hurry.clear()
            for pool in list(self._pools.values()):
                await self._exchange(pool)
            await wait_for(self._hurry, self._spacing_seconds)

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
        is_shut = self._is_draining or self._gate_seconds(pool, now) > 0
        want = 0 if is_shut else pool.count_waiters()
        is_due = (
            pool.held != pool.told
            or pool.report.is_urgent
            or (pool.held and now - pool.exchanged >= RENEW_SECONDS)
        )
        if not is_due and (not want or now < pool.retry_at):
            self._forget_if_idle(pool)
            return
        before = pool.held
        holding = tuple(self._holding[quota.place] for quota in pool.quotas)
        pool.nanos_reserved = pool.nanos_each
        report = pool.take_report()
        demand = Demand(holding, want, pool.tokens_each, report, pool.nanos_each, pool.used)
        grant = await self._permits.exchange(pool.quotas, demand)
        pool.told = before + grant.permits  # what was released during the exchange is news
        self._take(pool, grant, want)

    def _take(self, pool: Pool, grant: Grant, want: int) -> None:
        pool.held += grant.permits
        pool.surplus = grant.surplus
        pool.is_paced = grant.is_paced
        pool.used, pool.spent = grant.used, grant.spent
        pool.exchanged = self._clock.monotonic()
        pool.retry_at = pool.exchanged + retry_seconds(pool, grant, want)
        pool.is_open = grant.is_open
        for quota, in_use in zip(pool.quotas, grant.in_use, strict=True):
            self._holding[quota.place] += grant.permits
            self._in_use[quota.key] = in_use
        for _ in range(grant.permits):
            if not pool.admit():
                pool.refund()
                self._release(pool)  # whoever wanted it was cancelled meanwhile
        for change in grant.changes:
            cause = "" if change.after else self._troubles.get(change.key, "")
            self._on_change(change._replace(cause=cause), self._groups_under(change.key))
        if grant.refusals and pool.refusal:
            key = next(quota.key for quota in pool.quotas if quota.models)
            self._on_refusals(key, grant.refusals, pool.refusal)

    def _groups_under(self, key: str) -> set[str]:
        quotas = [quota for pool in self._pools.values() for quota in pool.quotas]
        return {quota.group for quota in quotas if quota.key == key and quota.group}

    def _forget_if_idle(self, pool: Pool) -> None:
        if not pool.held and not pool.told and not pool.waiters:
            self._pools.pop(tuple(quota.place for quota in pool.quotas), None)
            for quota in pool.quotas:
                if not self._holding[quota.place]:
                    self._in_use.pop(quota.key, None)
                    del self._holding[quota.place]


class Slot:
    """A permit for one call, on which the call notes what became of it. Written out, because one
    is made for every call and a decorated generator costs several times as much."""

    __slots__ = ("_guess", "_in_flight", "_permit", "_pool", "_quotas", "_started", "_throttle")

    def __init__(self, throttle: Throttle, quotas: tuple[Quota, ...], guess: Guess) -> None:
        self._throttle = throttle
        self._quotas = quotas
        self._guess = guess

    async def __aenter__(self) -> Permit:
        pool = self._pool = await self._throttle.acquire(self._quotas, self._guess)
        self._permit = Permit(pool.tokens_each, nanos_reserved=pool.nanos_reserved)
        if self._quotas[-1].may_queue:
            self._in_flight = self._throttle.in_flight(self._quotas[-1].key)
            self._started = self._throttle.monotonic()
        return self._permit

    async def __aexit__(self, *_: object) -> None:
        if self._permit.is_good and self._quotas[-1].may_queue:
            seconds = self._throttle.monotonic() - self._started
            self._throttle.note_latency(self._pool, self._in_flight, seconds)
        self._throttle.end_call(self._pool, self._permit)


async def wait_for(event: asyncio.Event, seconds: float | None) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def retry_seconds(pool: Pool, grant: Grant, want: int) -> float:
    """How long to wait before asking again for what was not granted."""
    if grant.permits >= want:
        return 0.0
    if pool.held and not pool.is_paced:
        return max(grant.retry_seconds, PATIENCE_SECONDS)
    return min(grant.retry_seconds, LONGEST_WAIT_SECONDS)
