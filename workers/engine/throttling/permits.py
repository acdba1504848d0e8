"""Where permits to call come from. This file: within one process. Over a cluster: Redis."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

PRIORITY_WEIGHTS = {"low": 1, "normal": 3, "high": 9}  # the shares of runs that compete


class Allowance(NamedTuple):
    """What may be used in all under a key, with what of it is stored as used."""

    calls: int | None = None
    calls_used: int = 0
    nanos: int | None = None  # billionths of a dollar: a call may cost a few thousand of them
    nanos_used: int = 0


class Quota(NamedTuple):
    """What may happen under one key, such as one model of one endpoint, or one run."""

    key: str
    max_concurrent: int
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    group: str = ""  # who shares the key, such as a run under a model's quota
    weight: int = 1  # of that group: its priority
    is_adaptive: bool = False  # starts gently, grows, and is cut when the provider says 429
    is_guarded: bool = False  # has a breaker: failing in a row stops the calls for a while
    allowance: Allowance | None = None
    may_queue: bool = False  # its server lets calls wait that it cannot work on yet, as Ollama
    models: int = 0  # called under it: when all of them refuse in a row, no more calls start

    @property
    def place(self) -> tuple[str, str]:
        return self.key, self.group


@dataclass(slots=True)
class Report:
    """What became of the calls under a pool's quotas since the last exchange."""

    good: int = 0
    throttled: int = 0  # answered 429
    troubled: int = 0  # 5xx, failed connections
    row: int = 0  # of these, since the last good one
    late: int = 0  # no full answer within the deadline
    tokens: int = 0  # used beyond what was reserved; negative: given back
    pause_seconds: float = 0.0  # the provider wants silence for this long
    told_requests_per_minute: int = 0  # the provider's own limits, from its headers
    told_tokens_per_minute: int = 0
    unused: int = 0  # permits that no call was made with
    nanos: int = 0  # dollars used beyond what was reserved; negative: given back
    refused: int = 0  # for good, in a row, since any other call ended
    refusal: str = ""  # the name of their error
    bears: int = 0  # calls that the server works on at once, if more were seen to wait there

    @property
    def is_urgent(self) -> bool:
        return bool(
            self.throttled or self.troubled or self.late or self.pause_seconds or self.refused
        )


class Demand(NamedTuple):
    """What a process holds and wants, per quota of a pool."""

    holding: tuple[int, ...]
    want: int
    tokens_each: int = 0
    report: Report = Report()  # never changed after it is sent
    nanos_each: int = 0
    heard: tuple[int, int] = (0, 0)  # calls and nanos used, by the last answer: Redis may forget


class LimitChange(NamedTuple):
    """A limit moved by itself, and why."""

    key: str
    before: int
    after: int
    reason: str
    cause: str = ""  # the last trouble with the calls of this process, where it opened a breaker


class Grant(NamedTuple):
    permits: int
    in_use: tuple[int, ...]  # per quota and over all holders, this grant included
    retry_seconds: float  # ask again after this long, when more were wanted
    surplus: int = 0  # permits to give back when their calls end: others wait with less
    is_paced: bool = False  # a permit is good for one call only
    changes: tuple[LimitChange, ...] = ()
    used: tuple[int, int] = (0, 0)  # calls and nanos of the allowance, reserved ones included
    spent: str = ""  # "calls" or "dollars": nothing flies and there is no room for another call
    is_open: bool = False  # the breaker: a model fails, and only probes may fly
    refusals: int = 0  # so many in a row, over all holders: what is under these quotas must stop


class Permits(Protocol):
    """Hands out permits. One call needs one permit of every quota it falls under."""

    async def exchange(self, quotas: tuple[Quota, ...], demand: Demand) -> Grant:
        """Say what this process holds and what became of its calls; get up to `want` more.

        Holdings are absolute, so a lost or doubled message corrects itself.
        """
        ...


BUSY_RETRY_SECONDS = 0.02
NO_PACE = 1_000_000


def burst_of(per_minute: int) -> int:
    """What may start at once. Small, so that a minute holds no more than its limit."""
    return max(1, per_minute // 100)


def interval_of(per_minute: int) -> float:
    """Seconds between starts, such that a burst plus a minute of them stays within the limit."""
    return 60.0 / max(1, per_minute - burst_of(per_minute))


class LocalPermits:
    """Permits for one process: tests, runs without workers, and workers without Redis.

    Keeps concurrency and rates, but does not adapt: that takes the whole cluster's experience.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._due: dict[str, float] = {}  # when the next start under a key is due (GCRA)
        self._used: dict[tuple[str, str], int] = {}  # of allowances, by key and name

    async def exchange(self, quotas: tuple[Quota, ...], demand: Demand) -> Grant:
        room = min(
            quota.max_concurrent - held for quota, held in zip(quotas, demand.holding, strict=True)
        )
        paces = [pace for quota in quotas for pace in self._paces(quota, demand, 0)]
        lines = [line for quota in quotas for line in self._lines(quota, demand)]
        rooms = [*(pace.room for pace in paces), *(line.room for line in lines)]
        granted = max(0, min(demand.want, room, *rooms, NO_PACE))
        for quota in quotas:
            list(self._paces(quota, demand, granted))
        for line in lines:
            self._used[line.key, line.name] = line.used + granted * line.each
        is_idle = demand.want and not any(demand.holding)
        spent = [line.name for line in lines if line.room < 1 and is_idle]
        return Grant(
            granted,
            tuple(held + granted for held in demand.holding),
            max([BUSY_RETRY_SECONDS, *(pace.wait for pace in paces)]),
            surplus=max(0, -room),
            is_paced=bool(paces or lines),
            spent=spent[0] if spent else "",
        )

    def _lines(self, quota: Quota, demand: Demand) -> list["Line"]:
        """What is left of an allowance, by what is stored and by what was granted here."""
        allowed, report, lines = quota.allowance or Allowance(), demand.report, []
        if allowed.calls is not None:
            used = self._used.get((quota.key, "calls"), demand.heard[0]) - report.unused
            used = max(used, allowed.calls_used)
            lines.append(Line(quota.key, "calls", allowed.calls, used, 1))
        if allowed.nanos is not None:
            used = self._used.get((quota.key, "dollars"), demand.heard[1]) + report.nanos
            used = max(used, allowed.nanos_used)
            lines.append(Line(quota.key, "dollars", allowed.nanos, used, max(1, demand.nanos_each)))
        return lines

    def _paces(self, quota: Quota, demand: Demand, calls: int) -> list["Pace"]:
        """The paces of a quota, `calls` starts further; with 0, only a look."""
        paces = []
        if quota.requests_per_minute:
            paces.append(self._pace(quota.key, quota.requests_per_minute, 1, calls))
        if quota.tokens_per_minute:
            settled = demand.report.tokens if calls == 0 else 0
            each = max(1, demand.tokens_each)
            key = f"{quota.key} tokens"
            paces.append(self._pace(key, quota.tokens_per_minute, each, calls, settled))
        return paces

    def _pace(self, key: str, per_minute: int, each: int, calls: int, settled: int = 0) -> "Pace":
        now = self._monotonic()
        burst = max(burst_of(per_minute), each)
        interval = 60.0 / max(1, per_minute - burst_of(per_minute))
        due = max(self._due.get(key, 0.0) + settled * interval, now)
        self._due[key] = due + calls * each * interval
        allowance = now + burst * interval - due
        room = int(allowance / (interval * each) + 1e-9)
        wait = 0.0 if room > 0 else interval * each - allowance
        return Pace(room=max(0, room), wait=wait)


class Line(NamedTuple):
    """One thing of an allowance: calls or dollars, and what one call takes of it."""

    key: str
    name: str
    total: int
    used: int
    each: int

    @property
    def room(self) -> int:
        return max(0, (self.total - self.used) // self.each)


class Pace(NamedTuple):
    room: int
    wait: float
