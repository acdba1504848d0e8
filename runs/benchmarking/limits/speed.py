"""Rows on speed: as fast as the latency allows, with many in flight, and by either schedule."""

from runs.benchmarking.limits import judging
from runs.benchmarking.limits.bars import Bar, Outcome, at_least, exactly
from runs.benchmarking.limits.stage import Stage
from runs.benchmarking.measuring import Measurement
from runs.benchmarking.parts import WORK_CONSERVING, Schedules

LATENCY_MS = 200.0
RATIO_BARS = {20: 1.05, 100: 1.10, 200: 1.3}  # wall / ideal, by calls in flight
CPU_LEVEL, CPU_SECONDS = 100, 0.8

MANY_TRIALS, MANY_SLOTS, MANY_LATENCY_MS = 20_000, 1000, 50.0
COLD_PER_SECOND, WARM_PER_SECOND = 2000, 5000

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
            bars.append(judging.processor(level, CPU_SECONDS, found))
        measured.append(found)
    bars.append(judging.lost(trials, *measured))
    return Outcome(bars, f"{trials:,} trials each, {LATENCY_MS:.0f} ms, cold cache")


def many(stage: Stage) -> Outcome:
    """A thousand in flight, then all of it again from the cache."""
    trials = stage.scaled(MANY_TRIALS)
    stage.provider(latency_ms=MANY_LATENCY_MS)
    document = stage.work(stage.endpoint(), stage.dataset(trials), MANY_SLOTS, cache="use")
    cold, warm = (measure_many(stage, document, trials) for _ in range(2))
    bars = [
        judging.throughput("cold cache", COLD_PER_SECOND, cold),
        judging.throughput("warm cache", WARM_PER_SECOND, warm),
        exactly("warm cache: calls sent", 0, warm.traffic.calls),
        judging.lost(trials, cold, warm),
    ]
    return Outcome(bars, f"{trials:,} trials, {MANY_LATENCY_MS:.0f} ms, {MANY_SLOTS:,} in flight")


def measure_many(stage: Stage, document: dict[str, object], trials: int) -> Measurement:
    expected = trials / COLD_PER_SECOND
    return stage.measure(document, latency_ms=MANY_LATENCY_MS, expected_seconds=expected)


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
