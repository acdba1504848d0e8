"""The row on small rounds: a strategy that decides after every single trial waits for nobody."""

from typing import Any

from runs.benchmarking.limits import judging
from runs.benchmarking.limits.bars import Outcome
from runs.benchmarking.limits.stage import Stage
from runs.benchmarking.workload import selection_work

ROUNDS, LATENCY_MS = 200, 50.0
MOST_OVERHEAD_MS = 10.0


def rounds(stage: Stage) -> Outcome:
    """Two candidates, one trial a round, with the cache in use as people have it."""
    trials = 2 * max(1, stage.scaled(ROUNDS) // 2)
    stage.provider(latency_ms=LATENCY_MS)
    document = selection_of_one_trial_a_round(stage, trials // 2)
    expected = trials * LATENCY_MS / 1000
    found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=expected)
    bars = [
        judging.overhead_of_a_round(MOST_OVERHEAD_MS, trials, found),
        judging.lost(trials, found),
    ]
    return Outcome(bars, f"{trials:,} rounds of one trial, {LATENCY_MS:.0f} ms")


def selection_of_one_trial_a_round(stage: Stage, cases: int) -> dict[str, Any]:
    strategy = {"name": "matrix_ucb", "batch": 1, "share": 1.0}
    return selection_work(stage.dataset(cases), stage.endpoint(), strategy)
