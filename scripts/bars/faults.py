"""Rows on a provider that fails: nothing is lost, little is sent twice, no slot is held."""

from itertools import chain

from runs.models import Score
from scripts.bars import judging
from scripts.bars.judging import Outcome, at_most
from scripts.bars.stage import Stage
from workers.engine.records import Attempt

LATENCY_MS = 100.0
SLOTS = 50
FAULT_RATE = 0.05
ERROR_TRIALS, RETRIED_SHARE = 2000, 0.15
STUCK_TRIALS, TIMEOUT_SECONDS, GRACE_SECONDS = 600, 2.0, 1.0


def errors(stage: Stage) -> Outcome:
    """Five in a hundred answers are a 500, 502 or 503."""
    trials = stage.scaled(ERROR_TRIALS)
    stage.provider(latency_ms=LATENCY_MS, error_rate=FAULT_RATE)
    document = stage.work(stage.endpoint(adaptive=True), stage.dataset(trials), SLOTS)
    expected = trials * LATENCY_MS / 1000 / SLOTS
    found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=expected)
    retried = (found.traffic.calls - trials) / trials
    bars = [
        judging.lost(trials, found),
        at_most("retries, of the trials", RETRIED_SHARE, retried, "%"),
    ]
    return Outcome(bars, f"{trials:,} trials, {FAULT_RATE:.0%} of the answers are errors")


def hangs(stage: Stage) -> Outcome:
    """Answers that never come, come a byte at a time, or break off."""
    trials = stage.scaled(STUCK_TRIALS)
    rates = {f"{name}_rate": FAULT_RATE for name in ("hang", "drip", "reset")}
    stage.provider(latency_ms=LATENCY_MS, **rates)
    document = stage.work(stage.endpoint(adaptive=True), stage.dataset(trials), SLOTS)
    document["limits"]["timeout_seconds"] = TIMEOUT_SECONDS
    expected = trials * LATENCY_MS / 1000 / SLOTS + TIMEOUT_SECONDS
    found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=expected)
    longest = TIMEOUT_SECONDS + GRACE_SECONDS
    bars = [
        judging.longest_at_provider(longest, stage.ledger_rows()),
        at_most("longest held slot, at the workers", longest, longest_held(found.run_id), "s"),
        judging.lost(trials, found),
    ]
    return Outcome(
        bars,
        f"{trials:,} trials, {FAULT_RATE:.0%} each of hangs, drips and resets, time-out"
        f" {TIMEOUT_SECONDS:.0f} s",
    )


def longest_held(run_id: int) -> float | None:
    """Seconds for which an attempt held its slot."""
    attempts = Score.objects.filter(run_id=run_id).values_list("attempts", flat=True)
    took_ms = [Attempt(*stored).took_ms for stored in chain.from_iterable(attempts)]
    return max(took_ms) / 1000 if took_ms else None
