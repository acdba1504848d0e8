"""Rows on speed: as fast as the latency allows, with many in flight, judged by a model, in small
rounds, and by either schedule."""

from typing import Any

from runs.benchmarking.measuring import Measurement
from runs.benchmarking.parts import ATTEMPTS_SIMULATED, WORK_CONSERVING, Schedules
from runs.benchmarking.workload import SYSTEM, limits
from scripts.bars import judging
from scripts.bars.judging import Bar, Outcome, at_least, at_most, exactly
from scripts.bars.stage import Stage

LATENCY_MS = 200.0
RATIO_BARS = {20: 1.05, 100: 1.10, 200: 1.3}  # wall / ideal, by calls in flight
CPU_LEVEL, CPU_SECONDS = 100, 0.8

MANY_TRIALS, MANY_SLOTS, MANY_LATENCY_MS = 20_000, 1000, 50.0
COLD_PER_SECOND, WARM_PER_SECOND = 2000, 5000

CRITICS_SLOTS, CRITICS_RATIO = 100, 1.10
CRITICS_CALLS = 2  # of a trial: for the answer, and for what the judge says of it

ROUNDS, ROUND_SLOTS, ROUND_LATENCY_MS, MOST_OVERHEAD_MS = 200, 20, 50.0, 10.0

SCHEDULE_REPEATS, SCHEDULE_GAIN = 3, 1.5


def in_flight(stage: Stage) -> Outcome:
    """Wall time against the ideal, answers stored, scored and cached."""
    trials = stage.plan.trials
    stage.provider(latency_ms=LATENCY_MS)
    model = stage.endpoint()
    bars: list[Bar] = []
    measured: list[Measurement] = []
    for part, (level, bar) in enumerate(RATIO_BARS.items()):
        document = stage.work(model, stage.dataset(trials, part), level, cache="use")
        expected = trials * LATENCY_MS / 1000 / level
        found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=expected)
        bars.append(judging.ratio(level, bar, found))
        if level == CPU_LEVEL:
            measured_cpu = f"CPU of all workers / 1,000 trials, {level} in flight"
            bars.append(at_most(measured_cpu, CPU_SECONDS, cpu_per_1000(found), "s"))
        measured.append(found)
    bars.append(judging.lost(trials, *measured))
    return Outcome(bars, f"{trials:,} trials each, {LATENCY_MS:.0f} ms, cold cache")


def cpu_per_1000(found: Measurement) -> float | None:
    return None if found.cpu_seconds is None else 1000 * found.cpu_seconds / found.n


def critics(stage: Stage) -> Outcome:
    """A model judges every answer, and the slots stay as full as without it: both calls of a trial
    follow each other, under the same limits."""
    trials = stage.plan.trials
    stage.provider(latency_ms=LATENCY_MS)
    model = stage.endpoint()
    document = stage.work(model, stage.dataset(trials), CRITICS_SLOTS, cache="use")
    rubric = {"judge": {**model, "parameters": {}}, "rubric": "The number is right."}
    document["scorers"] = [{"rubric": rubric}]
    expected = CRITICS_CALLS * trials * LATENCY_MS / 1000 / CRITICS_SLOTS
    found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=expected)
    bars = [
        judging.ratio(CRITICS_SLOTS, CRITICS_RATIO, found, calls=CRITICS_CALLS),
        exactly("calls sent, for each trial", CRITICS_CALLS, found.traffic.calls / trials),
        judging.lost(trials, found),
    ]
    return Outcome(bars, f"{trials:,} trials, {LATENCY_MS:.0f} ms, judged by a model, cold cache")


def many(stage: Stage) -> Outcome:
    """A thousand in flight, then all of it again from the cache."""
    trials = stage.scaled(MANY_TRIALS)
    stage.provider(latency_ms=MANY_LATENCY_MS)
    document = stage.work(stage.endpoint(), stage.dataset(trials), MANY_SLOTS, cache="use")
    cold, warm = (measure_many(stage, document, trials) for _ in range(2))
    bars = [
        at_least("cold cache: speed", COLD_PER_SECOND, cold.trials_per_second, "trials/s"),
        at_least("warm cache: speed", WARM_PER_SECOND, warm.trials_per_second, "trials/s"),
        exactly("warm cache: calls sent", 0, warm.traffic.calls),
        judging.lost(trials, cold, warm),
    ]
    return Outcome(bars, f"{trials:,} trials, {MANY_LATENCY_MS:.0f} ms, {MANY_SLOTS:,} in flight")


def measure_many(stage: Stage, document: dict[str, object], trials: int) -> Measurement:
    expected = trials / COLD_PER_SECOND
    return stage.measure(document, latency_ms=MANY_LATENCY_MS, expected_seconds=expected)


def rounds(stage: Stage) -> Outcome:
    """A strategy that decides after every single trial waits for nobody: two candidates, one trial
    a round, with the cache in use as people have it."""
    trials = 2 * max(1, stage.scaled(ROUNDS) // 2)
    stage.provider(latency_ms=ROUND_LATENCY_MS)
    document = one_trial_a_round(stage.dataset(trials // 2), stage.endpoint())
    expected = trials * ROUND_LATENCY_MS / 1000
    found = stage.measure(document, latency_ms=ROUND_LATENCY_MS, expected_seconds=expected)
    # From creation to end, beyond the calls, which follow each other.
    beyond_ms = 1000 * found.wall_seconds - trials * ROUND_LATENCY_MS
    bars = [
        at_most("a round beyond its call", MOST_OVERHEAD_MS, beyond_ms / trials, "ms"),
        judging.lost(trials, found),
    ]
    return Outcome(bars, f"{trials:,} rounds of one trial, {ROUND_LATENCY_MS:.0f} ms")


def one_trial_a_round(dataset: str, model: dict[str, Any]) -> dict[str, Any]:
    """One step, and the choice between two temperatures of the same model."""
    models = [{**model, "parameters": {"temperature": degree}} for degree in (0.0, 0.5)]
    return {
        "name": dataset,
        "kind": "select",
        "dataset": dataset,
        "steps": [{"name": "solver", "system": SYSTEM, "user": "{{question}}", "models": models}],
        "strategy": {"name": "matrix_ucb", "batch": 1, "share": 1.0},
        "scorers": [{"numeric": {"tolerance": 0.001}}],
        "limits": limits(ROUND_SLOTS, attempts=ATTEMPTS_SIMULATED),
        "cache": "use",
    }


def schedules(stage: Stage) -> Outcome:
    """Work-conserving against two-level, as the speed suite compares them."""
    stage.provider(latency_ms=LATENCY_MS)
    compared = Schedules(stage.setup)
    for repeat in range(SCHEDULE_REPEATS):
        compared.measure(repeat)
    points = {point["label"]: point for point in compared.points()}
    point = points[WORK_CONSERVING.replace("_", "-")]
    bars = [
        at_least("work-conserving, times as fast", SCHEDULE_GAIN, point["gain"]["median"]),
        exactly("tables that differ", 0, int(not compared.have_same_results())),
    ]
    slots = f"{point['concurrency']} slots"
    return Outcome(
        bars,
        f"9 candidates x 15 cases, {slots}, uneven latency, median of {SCHEDULE_REPEATS} repeats",
    )
