"""The row on trainings: the timing recipe of the trainer that the parameters come from, whose own
figures stand beside ours. Every step asks the three models, and nothing is asked twice."""

from typing import Any, NamedTuple

from runs.benchmarking.measuring import Measurement
from runs.benchmarking.workload import TIMEOUT_SECONDS
from runs.models import Run
from scripts.bars.judging import Bar, Outcome, at_least, exactly
from scripts.bars.stage import Stage

ENVIRONMENTS = 16
OPERATORS = ("paraphrase", "passive_voice")
LATENCY_MS = 200.0
STEPS = 8  # so that what a run takes besides its calls is small
STAGES = 3  # calls of a step: rewrite, ask, judge
# Of the original, with 8 at once: what it says of itself, and what its stages come to when the
# judge and the embedder wait for each other, as they do there.
CLAIMED, REAL = "4 to 6", 2.3
SPEED_UPS = {8: 7.0, 16: 13.0}  # by calls at once


class Trained(NamedTuple):
    found: Measurement
    sent: int
    rewards: list[float | None]  # of the segments, in their order


def batching(stage: Stage) -> Outcome:
    """The same update, one call at a time, then with more of them in flight."""
    stage.provider(latency_ms=LATENCY_MS)
    model, dataset = stage.endpoint(), stage.dataset(ENVIRONMENTS)
    slow = train(stage, model, dataset, at_once=1)
    bars: list[Bar] = []
    for at_once, least in SPEED_UPS.items():
        fast = train(stage, model, dataset, at_once=at_once)
        times = slow.found.wall_seconds / fast.found.wall_seconds
        label = f"{at_once} in flight"
        bars += [
            at_least(f"{label}: times as fast as one at a time", least, times),
            exactly(f"{label}: peak at the provider", at_once, fast.found.traffic.peak_in_flight),
            exactly(f"{label}: segments with another reward", 0, differing(slow, fast)),
            exactly(f"{label}: calls", slow.sent, fast.sent),
        ]
    return Outcome(
        bars,
        f"{ENVIRONMENTS} environments x {STEPS} steps, {LATENCY_MS:.0f} ms in each of the "
        f"{STAGES} stages, no cache: {slow.sent:,} calls take {slow.found.wall_seconds:.1f} s one "
        f"at a time; the original is {REAL} times as fast with 8 in flight, and claims {CLAIMED}",
    )


def train(stage: Stage, model: dict[str, Any], dataset: str, *, at_once: int) -> Trained:
    document = mutation_work(dataset, model, at_once)
    calls = ENVIRONMENTS * STEPS * STAGES
    seconds = calls * LATENCY_MS / 1000 / at_once
    found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=seconds)
    run = Run.objects.get(pk=found.run_id)
    rewards = run.scores.order_by("position").values_list("value", flat=True)
    return Trained(found, found.traffic.calls, list(rewards))


def differing(one: Trained, other: Trained) -> int:
    return sum(a != b for a, b in zip(one.rewards, other.rewards, strict=True))


def mutation_work(dataset: str, model: dict[str, Any], at_once: int) -> dict[str, Any]:
    """One update. The goal needs no answer to the query as it was, and words are hashed, so that a
    step is a rewrite, an answer and a judgement."""
    return {
        "name": dataset,
        "kind": "mutate",
        "dataset": dataset,
        "operators": list(OPERATORS),
        "goal": "stays_right",
        "roles": {"mutator": model, "target": model, "judge": model},
        "strategy": {
            "name": "uniform",
            "num_processes": ENVIRONMENTS,
            "num_steps": STEPS,
            "updates": 1,
        },
        "held_out": None,
        "use_batching": at_once > 1,
        "limits": {
            "max_concurrent": at_once,
            "requests_per_minute": None,
            "timeout_seconds": TIMEOUT_SECONDS,
        },
        "cache": "off",
    }
