"""Rows 49 and 50: limits of requests and of tokens a minute, while workers and Redis are killed."""

from __future__ import annotations

from tests.faults.checker import SECONDS_PER_MINUTE, busiest, read_ledger
from tests.faults.stage import Act, Load, Stage

WINDOWS_SECONDS = (60.0, 10.0)
SHORT = Load(trials=180, latency_ms=100, slots=10)
LONG = Load(trials=2400, latency_ms=100, slots=20)  # more than a minute at the rates below
REQUESTS_PER_MINUTE = 1200
TOKENS_PER_MINUTE = 60_000  # about 40 a call


def request_rate(stage: Stage) -> None:
    """Row 49: requests a minute, as the provider counts them."""
    act = crash_under(stage, {"requests_per_minute": REQUESTS_PER_MINUTE})
    check_windows(stage, "calls", [1] * act.calls(), REQUESTS_PER_MINUTE)


def token_rate(stage: Stage) -> None:
    """Row 50: tokens a minute, as the provider counts them."""
    crash_under(stage, {"tokens_per_minute": TOKENS_PER_MINUTE})
    used = [row["tokens_in"] + row["tokens_out"] for row in read_ledger(stage.cluster)]
    check_windows(stage, "tokens", used, TOKENS_PER_MINUTE)


def crash_under(stage: Stage, limit: dict[str, int]) -> Act:
    """A worker is killed, then Redis, then Redis is emptied; all are there again at once."""
    act = stage.launch(stage.load(SHORT, LONG), endpoint=limit, held_at=0.2)
    act.wait_for_share(0.2, 120)
    victim = stage.nemesis.busy_worker()
    stage.nemesis.kill(victim)
    act.let_go()
    victim.start_again()
    act.wait_for_share(0.4, 120)
    stage.nemesis.kill(stage.cluster.redis)
    stage.nemesis.start_redis()
    act.wait_for_share(0.6, 120)
    stage.nemesis.empty_redis()
    act.finish(300)
    act.check(wasted=2 * act.load.slots)
    return act


def check_windows(stage: Stage, what: str, used: list[int], per_minute: int) -> None:
    """No window holds more than its share of the limit, and two bursts: one that is allowed, one
    after Redis has forgotten. A minute holds no more than the limit."""
    arrivals = [row["arrival"] for row in read_ledger(stage.cluster)]
    burst = 2 * max(per_minute // 100, *used)
    late = 0.0 if stage.is_full else 2.0  # a busy machine delivers calls later than it let them go
    for seconds in WINDOWS_SECONDS:
        share = per_minute * (seconds + late) / SECONDS_PER_MINUTE
        most = per_minute if seconds == SECONDS_PER_MINUTE else share + burst
        found = busiest(arrivals, seconds, used)
        stage.verdict.figure(f"most_{what}_in_{seconds:.0f}_s", found, most)
    if not stage.is_full:  # it may be over before the limit is felt
        return
    short = per_minute * WINDOWS_SECONDS[-1] / SECONDS_PER_MINUTE
    stage.verdict.expect(found >= short / 2, f"the limit was not felt: {found} {what} in 10 s")
