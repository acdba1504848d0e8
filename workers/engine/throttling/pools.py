"""The calls of one process under the same quotas: who waits, what is held, how it goes."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from workers.engine.errors import CallError
from workers.engine.throttling.permits import Quota, Report

LEARNING = 0.1  # how fast the expected tokens of a call follow the ones seen


@dataclass(slots=True)
class Permit:
    """The right to make one call. Whoever makes it says what became of it."""

    reserved: int = 0  # tokens
    used: int | None = None  # tokens; None: no answer came, nothing was used
    is_good: bool = False
    is_throttled: bool = False
    is_troubled: bool = False
    is_late: bool = False
    pause_seconds: float = 0.0
    told_requests_per_minute: int = 0
    told_tokens_per_minute: int = 0
    nanos_reserved: int = 0  # billionths of a dollar
    nanos_used: int = 0
    refusal: CallError | None = None  # the same call would be refused again
    trouble: str = ""  # why it failed, though the same call may be answered later


@dataclass(slots=True)
class Pool:
    quotas: tuple[Quota, ...]
    waiters: deque[asyncio.Future[None]] = field(default_factory=deque)
    held: int = 0
    told: int = 0  # how many we last said to hold
    surplus: int = 0  # how many to give back, because other holders have less than their share
    is_paced: bool = False  # under a rate, a permit is good for one call only
    tokens_each: int = 0  # expected of a call
    nanos_each: int = 0  # expected of a call, in billionths of a dollar
    nanos_reserved: int = 0  # for each call of the last grant
    used: tuple[int, int] = (0, 0)  # of the allowance, as last heard
    spent: str = ""  # what of the allowance is used up
    report: Report = field(default_factory=Report)
    exchanged: float = 0.0
    retry_at: float = 0.0
    is_open: bool = False  # the breaker: the model fails, and only probes may fly
    refusal: CallError | None = None  # the last one

    def count_waiters(self) -> int:
        """Without those at the head that were cancelled: nobody would take their permits."""
        while self.waiters and self.waiters[0].done():
            self.waiters.popleft()
        return len(self.waiters)

    def refund(self) -> None:
        """A permit was granted and not used."""
        self.report.unused += 1
        self.report.nanos -= self.nanos_reserved

    def settle(self, permit: Permit) -> None:
        """Note what became of a call, for the next exchange."""
        report = self.report
        report.good += permit.is_good
        report.throttled += permit.is_throttled
        report.troubled += permit.is_troubled
        report.row = 0 if permit.is_good else report.row + permit.is_troubled
        report.late += permit.is_late
        report.tokens += (permit.used or 0) - permit.reserved
        report.pause_seconds = max(report.pause_seconds, permit.pause_seconds)
        report.told_requests_per_minute = (
            permit.told_requests_per_minute or report.told_requests_per_minute
        )
        report.told_tokens_per_minute = (
            permit.told_tokens_per_minute or report.told_tokens_per_minute
        )
        report.nanos += permit.nanos_used - permit.nanos_reserved
        self._count_refusal(permit)
        if permit.nanos_used:
            self.nanos_each += round(LEARNING * (permit.nanos_used - self.nanos_each))
        if permit.used:
            step = LEARNING * (permit.used - self.tokens_each)
            self.tokens_each = max(1, round(self.tokens_each + step))

    def _count_refusal(self, permit: Permit) -> None:
        report, refusal = self.report, permit.refusal
        if refusal is not None:
            is_another = report.refusal != refusal.name
            report.refused = 1 if is_another else report.refused + 1
            report.refusal, self.refusal = refusal.name, refusal
        elif permit.is_good or permit.is_troubled or permit.is_late:
            report.refused = 0

    def take_report(self) -> Report:
        report, self.report = self.report, Report()
        return report

    def admit(self) -> bool:
        """Let the next waiter go. False if nobody waits."""
        while self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return True
        return False
