"""Where permits to call come from. This file: within one process. Over a cluster: Redis."""

from collections.abc import Callable
from typing import NamedTuple, Protocol


class Quota(NamedTuple):
    """What may happen under one key, such as one model of one endpoint, or one run."""

    key: str
    max_concurrent: int
    requests_per_minute: int | None = None


class Grant(NamedTuple):
    permits: int
    in_use: tuple[int, ...]  # per quota and over all holders, this grant included
    retry_seconds: float  # ask again after this long, when more were wanted
    surplus: int = 0  # permits to give back when their calls end: others wait with less


class Permits(Protocol):
    """Hands out permits. One call needs one permit of every quota it falls under."""

    async def exchange(
        self, quotas: tuple[Quota, ...], holding: tuple[int, ...], want: int
    ) -> Grant:
        """Say how many permits this process holds under each quota, and get up to `want` more.

        Holdings are absolute, so a lost or doubled message corrects itself.
        """
        ...


BUSY_RETRY_SECONDS = 0.02


def burst_of(requests_per_minute: int) -> int:
    """Calls that may start at once. Small, so that a minute holds no more than its limit."""
    return max(1, requests_per_minute // 100)


def interval_of(requests_per_minute: int) -> float:
    """Seconds between calls, such that a burst plus a minute of them stays within the limit."""
    return 60.0 / max(1, requests_per_minute - burst_of(requests_per_minute))


class LocalPermits:
    """Permits for one process: tests, benchmarks and runs without workers."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._due: dict[str, float] = {}  # when the next call under a key is due (GCRA)

    async def exchange(
        self, quotas: tuple[Quota, ...], holding: tuple[int, ...], want: int
    ) -> Grant:
        room = min(quota.max_concurrent - held for quota, held in zip(quotas, holding, strict=True))
        waits = [self._start(quota, 0).wait for quota in quotas]
        started = min((self._start(quota, 0).room for quota in quotas), default=want)
        granted = max(0, min(want, room, started))
        for quota in quotas:
            self._start(quota, granted)
        in_use = tuple(held + granted for held in holding)
        return Grant(granted, in_use, max([BUSY_RETRY_SECONDS, *waits]))

    def _start(self, quota: Quota, calls: int) -> "Pace":
        """Take `calls` starts from the pace of a quota; with 0, only look."""
        if quota.requests_per_minute is None:
            return Pace(room=1_000_000, wait=0.0)
        now = self._monotonic()
        interval = interval_of(quota.requests_per_minute)
        due = max(self._due.get(quota.key, 0.0), now)
        self._due[quota.key] = due + calls * interval
        allowance = now + burst_of(quota.requests_per_minute) * interval - due
        room = int(allowance / interval + 1e-9)
        return Pace(room=max(0, room), wait=0.0 if room > 0 else interval - allowance)


class Pace(NamedTuple):
    room: int
    wait: float
