"""Permits over the whole cluster: one Lua script (permits.lua) on the Redis server's clock.

Each holder (a worker process) states what it holds, what it wants and how its calls went. Holdings
expire when their holder dies. While others wait with less than their share, a holder is asked to
give back. An adaptive limit grows and is cut by what all processes report.
"""

import logging
import time
from pathlib import Path
from typing import Any

import redis.asyncio
from redis.exceptions import RedisError

from workers.engine.errors import BadCredentials
from workers.engine.streaks import longest_row
from workers.engine.throttling.permits import (
    BUSY_RETRY_SECONDS,
    Allowance,
    Demand,
    Grant,
    LimitChange,
    LocalPermits,
    Permits,
    Quota,
)

logger = logging.getLogger(__name__)

LEASE_MILLISECONDS = 10_000  # a dead holder's permits are free again after this long
EXCHANGE = Path(__file__).with_name("permits.lua").read_text()
KEYS_PER_QUOTA = ("held", "wanted", "expires", "weights", "due", "tokens_due", "state")
ADAPTIVE, GUARDED = 1, 2
PACED, BREAKER_OPEN = 1, 2
SETTLE_SECONDS = 3.0  # without Redis nobody takes more before those with too much gave it back
NO_LIMIT = -1
NOTHING = Allowance()
SPENT = ("", "calls", "dollars")


class RedisPermits:
    """Shared permits; while Redis is away, each worker keeps to its part of every limit."""

    def __init__(
        self, client: "redis.asyncio.Redis", holder: str, workers: int, local: LocalPermits
    ) -> None:
        self._exchange = client.register_script(EXCHANGE)
        self._holder = holder
        self._workers = workers
        self._fallback: Permits = local
        self._was_there = False  # has Redis ever heard of us?
        self._lost_at: float | None = None
        self._alone: set[str] = set()  # keys that Redis does not keep at the moment

    async def exchange(self, quotas: tuple[Quota, ...], demand: Demand) -> Grant:
        try:
            answer = await self._exchange(
                keys=[f"permits:{part}:{quota.key}" for quota in quotas for part in KEYS_PER_QUOTA],
                args=[self._told(quotas, demand)],
            )
        except (RedisError, OSError):
            return await self._exchange_alone(quotas, demand)
        self._was_there, self._lost_at = True, None
        return self._with_return(quotas[-1], read_grant(quotas, answer))

    def _told(self, quotas: tuple[Quota, ...], demand: Demand) -> str:
        numbers = [*demand_numbers(demand), int(self._was_there), *quota_numbers(quotas, demand)]
        return "".join([f"{value}\n" for value in (self._holder, *numbers)])

    async def _exchange_alone(self, quotas: tuple[Quota, ...], demand: Demand) -> Grant:
        shares = tuple(share_of(quota, self._workers) for quota in quotas)
        wait = self._seconds_to_settle()
        if wait > 0:
            demand = demand._replace(want=0)
        grant = await self._fallback.exchange(shares, demand)
        grant = grant._replace(retry_seconds=max(wait, grant.retry_seconds))
        key, before, after = quotas[-1].key, quotas[-1].max_concurrent, shares[-1].max_concurrent
        if key in self._alone:
            return grant
        logger.warning("Redis is away: each of %s workers keeps to its share.", self._workers)
        self._alone.add(key)
        reason = f"Redis is away: each of {self._workers} workers keeps to its share"
        return grant._replace(changes=(LimitChange(key, before, after, reason),))

    def _seconds_to_settle(self) -> float:
        """Others may hold more than their share: they need a moment to give it back."""
        if not self._was_there:
            return 0.0
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
        return self._lost_at + SETTLE_SECONDS - now

    def _with_return(self, quota: Quota, grant: Grant) -> Grant:
        """Says so when Redis keeps the limits again."""
        if quota.key not in self._alone:
            return grant
        self._alone.discard(quota.key)
        before = share_of(quota, self._workers).max_concurrent
        back = LimitChange(quota.key, before, quota.max_concurrent, "Redis is back")
        return grant._replace(changes=(*grant.changes, back))


def demand_numbers(demand: Demand) -> list[Any]:
    report = demand.report
    return [
        demand.want,
        LEASE_MILLISECONDS,
        demand.tokens_each,
        report.good,
        report.throttled,
        report.troubled,
        report.late,
        report.tokens,
        round(report.pause_seconds * 1000),
        report.told_requests_per_minute,
        report.told_tokens_per_minute,
        report.unused,
        max(1, demand.nanos_each),
        report.nanos,
        *demand.heard,
        report.refused,
        report.refusal,
        longest_row(report.refusal),
        report.bears,
        report.row,
    ]


def quota_numbers(quotas: tuple[Quota, ...], demand: Demand) -> list[Any]:
    numbers: list[Any] = []
    is_key_refused = demand.report.refusal == BadCredentials.name  # whichever model was called
    for quota, held in zip(quotas, demand.holding, strict=True):
        flags = ADAPTIVE * quota.is_adaptive + GUARDED * quota.is_guarded
        models = min(1, quota.models) if is_key_refused else quota.models
        rates = (quota.requests_per_minute or 0, quota.tokens_per_minute or 0)
        numbers += [held, quota.max_concurrent, *rates, quota.group, quota.weight, flags]
        numbers += [NO_LIMIT if number is None else number for number in quota.allowance or NOTHING]
        numbers.append(models)
    return numbers


def read_grant(quotas: tuple[Quota, ...], answer: list[Any]) -> Grant:
    permits, surplus, wait_ms, flags, spent, refusals, calls, nanos, *rest = answer
    in_use, said = rest[: len(quotas)], rest[len(quotas) :]
    changes = tuple(
        LimitChange(quotas[said[at] - 1].key, said[at + 1], said[at + 2], said[at + 3].decode())
        for at in range(0, len(said), 4)
    )
    retry_seconds = max(BUSY_RETRY_SECONDS, wait_ms / 1000)
    return Grant(
        permits,
        tuple(in_use),
        retry_seconds,
        surplus,
        bool(flags & PACED),
        changes,
        (calls, nanos),
        SPENT[spent],
        bool(flags & BREAKER_OPEN),
        refusals,
    )


def share_of(quota: Quota, workers: int) -> Quota:
    """What one worker may do when it cannot ask the others. A limit below the number of workers
    is kept by rounding down to nothing rather than up."""
    rpm, tpm = quota.requests_per_minute, quota.tokens_per_minute
    return quota._replace(
        max_concurrent=quota.max_concurrent // workers,
        requests_per_minute=max(1, rpm // workers) if rpm else None,
        tokens_per_minute=max(1, tpm // workers) if tpm else None,
        allowance=part_of(quota.allowance, workers) if quota.allowance else None,
    )


def part_of(allowed: Allowance, workers: int) -> Allowance:
    """A worker's part of what is left. The others' parts are taken off as they are stored."""
    calls, calls_used, nanos, nanos_used = allowed
    return allowed._replace(
        calls=calls and calls_used + max(0, calls - calls_used) // workers,
        nanos=nanos and nanos_used + max(0, nanos - nanos_used) // workers,
    )
