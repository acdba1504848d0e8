"""The row on critics: a model judges every answer, and the slots stay as full as without it."""

from runs.benchmarking.limits import judging
from runs.benchmarking.limits.bars import Outcome, exactly
from runs.benchmarking.limits.stage import Stage

SLOTS, LATENCY_MS = 100, 200.0
RATIO_BAR = 1.10  # wall / ideal
CALLS = 2  # of a trial: for the answer, and for what the judge says of it


def critics(stage: Stage) -> Outcome:
    """Both calls of a trial follow each other, under the same limits."""
    trials = stage.plan.trials
    stage.provider(latency_ms=LATENCY_MS)
    model = stage.endpoint()
    document = stage.work(model, stage.dataset(trials), SLOTS, cache="use")
    rubric = {"judge": {**model, "parameters": {}}, "rubric": "The number is right."}
    document["scorers"] = [{"rubric": rubric}]
    expected = CALLS * trials * LATENCY_MS / 1000 / SLOTS
    found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=expected)
    bars = [
        judging.ratio(SLOTS, RATIO_BAR, found, calls=CALLS),
        exactly("calls sent, for each trial", CALLS, found.traffic.calls / trials),
        judging.lost(trials, found),
    ]
    return Outcome(bars, f"{trials:,} trials, {LATENCY_MS:.0f} ms, judged by a model, cold cache")
