"""The rows of the evolution suite. Bars are the figures of the guide that the presets come from,
which are estimates there, and our own."""

from dataclasses import dataclass
from typing import NamedTuple

from runs.benchmarking.evolution.work import (
    SLOTS_OF_BALANCED,
    balanced,
    evolution_work,
    one_at_a_time,
    slots,
)
from runs.benchmarking.limits.bars import Bar, Outcome, at_least, at_most, exactly
from runs.benchmarking.limits.row import Row
from runs.benchmarking.limits.stage import Stage
from runs.benchmarking.measuring import Measurement
from runs.benchmarking.plan import Size
from runs.models import Run
from workers.engine.spec.presets import PRESETS

LATENCY_MS = 200.0
SLICE = Size(population=5, problems=6)  # one at a time is slow: 30 trials tell its speed

# What the guide says: speed-ups by size, and problems a second one at a time, in batches, at best.
CLAIMED_SPEEDUPS = {Size(30, 50): 3.8, Size(50, 100): 4.3, Size(100, 100): 5.0}
LEAST_CLAIMED_SPEEDUP = 3.8
CLAIMED_SEQUENTIAL, CLAIMED_BATCHED, CLAIMED_BEST = "2 to 3", "15 to 25", 40.0

GENERATIONS = 5
GENERATIONS_SIZE = Size(30, 50)
MOST_RATIO = 1.2  # wall / ideal

WIDE_SIZE, WIDE_SLOTS, WIDE_PER_SECOND = Size(100, 100), 200, 700.0


@dataclass(frozen=True)
class Evolved:
    """A run that was measured, and where its trials got their answers."""

    found: Measurement
    asked: int  # trials of all roles
    sent: int
    stored: int  # answers that the cache had
    joined: int  # answers of equal calls that were under way

    @property
    def unaccounted(self) -> int:
        return self.asked - self.sent - self.stored - self.joined

    @property
    def hit_rate(self) -> float:
        return (self.stored + self.joined) / self.asked


class Bed(NamedTuple):
    """Where a row grows its evolutions: one endpoint, and cases that no other row has."""

    stage: Stage
    model: dict[str, object]

    def grow(
        self,
        size: Size,
        limits: dict[str, object],
        *,
        dataset: str,
        slots: int,
        generations: int = 1,
        per_second: float | None = None,
    ) -> Evolved:
        document = evolution_work(
            dataset, self.model, limits, population=size.population, generations=generations
        )
        most = size.population * size.problems * generations
        pace = per_second or slots * 1000 / LATENCY_MS
        found = self.stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=most / pace)
        return evolved(found)


def evolved(found: Measurement) -> Evolved:
    run = Run.objects.get(pk=found.run_id)
    cached = run.cached + run.told("cached")  # with what joined an equal call
    return Evolved(found, run.asked, run.calls_sent, cached - run.calls_joined, run.calls_joined)


def bed_of(stage: Stage) -> Bed:
    stage.provider(latency_ms=LATENCY_MS)
    return Bed(stage, stage.endpoint())


def sizes(stage: Stage) -> Outcome:
    """One generation of each size, beside a slice one at a time, and once more from the cache."""
    bed = bed_of(stage)
    dataset = stage.dataset(SLICE.problems)
    slow = bed.grow(SLICE, one_at_a_time(), dataset=dataset, slots=1)
    sequential = slow.found.trials_per_second
    bars = [at_least("one at a time: problems/s", 2.0, sequential)]
    for part, size in enumerate(stage.plan.sizes, start=1):
        bars += bars_of_size(bed, size, stage.dataset(size.problems, part), sequential)
    return Outcome(
        bars,
        f"one generation, {LATENCY_MS:.0f} ms, {SLOTS_OF_BALANCED} in flight; speed-ups against "
        f"{slow.asked} trials one at a time; the bars are the guide's: {CLAIMED_SEQUENTIAL} "
        f"problems/s one at a time, {CLAIMED_BATCHED} in batches, {CLAIMED_BEST:.0f} at best, and "
        "3.8, 4.3 and 5 times as fast",
    )


def bars_of_size(bed: Bed, size: Size, dataset: str, sequential: float) -> list[Bar]:
    limits = slots(SLOTS_OF_BALANCED)
    cold, warm = (
        bed.grow(size, limits, dataset=dataset, slots=SLOTS_OF_BALANCED) for _ in range(2)
    )
    per_second = cold.found.trials_per_second
    claimed = CLAIMED_SPEEDUPS.get(size, LEAST_CLAIMED_SPEEDUP)
    return [
        at_least(f"{size}: problems/s", CLAIMED_BEST, per_second),
        at_least(f"{size}: times as fast", claimed, per_second / sequential),
        at_least(f"{size}, again: answers from the cache", 1.0, warm.hit_rate, "%"),
        at_least(f"{size}, again: problems/s", CLAIMED_BEST, warm.found.trials_per_second),
        unaccounted(str(size), cold, warm),
    ]


def generations(stage: Stage) -> Outcome:
    """Barriers between generations cost little: children are planned and stored meanwhile."""
    bed, size = bed_of(stage), GENERATIONS_SIZE
    bars: list[Bar] = []
    alone, preset = f"{SLOTS_OF_BALANCED} in flight", "balanced, with its requests a minute"
    rate = PRESETS["balanced"]["requests_per_minute"] / 60
    ways = {alone: (slots(SLOTS_OF_BALANCED), None), preset: (balanced(), rate)}
    grown = []
    for part, (label, (limits, per_second)) in enumerate(ways.items()):
        one = bed.grow(
            size,
            limits,
            dataset=stage.dataset(size.problems, part),
            slots=SLOTS_OF_BALANCED,
            generations=GENERATIONS,
            per_second=per_second,
        )
        pace = per_second or SLOTS_OF_BALANCED * 1000 / LATENCY_MS
        ratio = one.found.wall_seconds / (one.sent / pace)
        bars.append(at_most(f"wall / ideal, {label}", MOST_RATIO, ratio))
        grown.append(one)
    first = grown[0]
    bars += [
        exactly(f"peak at the provider, {alone}", SLOTS_OF_BALANCED, peak(first)),
        at_most(f"peak at the provider, {preset}", SLOTS_OF_BALANCED, peak(grown[1])),
        unaccounted("both", *grown),
        exactly("evaluations that failed", 0, sum(one.found.failed for one in grown)),
    ]
    nominal = size.population * size.problems * GENERATIONS
    spared = 1 - first.asked / nominal
    return Outcome(
        bars,
        f"{size} x {GENERATIONS} generations, {LATENCY_MS:.0f} ms: {first.asked:,} trials, "
        f"{spared:.0%} fewer than {nominal:,}, since nothing is asked twice; the ideal is calls x "
        "latency / slots, or calls / rate",
    )


def wide(stage: Stage) -> Outcome:
    bed = bed_of(stage)
    dataset = stage.dataset(WIDE_SIZE.problems)
    one = bed.grow(WIDE_SIZE, slots(WIDE_SLOTS), dataset=dataset, slots=WIDE_SLOTS)
    bars = [
        at_least("problems/s", WIDE_PER_SECOND, one.found.trials_per_second),
        exactly("peak at the provider", WIDE_SLOTS, peak(one)),
        unaccounted(str(WIDE_SIZE), one),
    ]
    return Outcome(
        bars, f"{WIDE_SIZE}, one generation, {LATENCY_MS:.0f} ms, {WIDE_SLOTS} in flight"
    )


def peak(one: Evolved) -> int:
    return one.found.traffic.peak_in_flight


def unaccounted(label: str, *grown: Evolved) -> Bar:
    """By the run's counters, and by the provider's own."""
    missing = sum(abs(one.unaccounted) + abs(one.sent - one.found.traffic.calls) for one in grown)
    return exactly(f"{label}: trials - sent - cached - joined", 0, missing)


EVOLUTION_ROWS: dict[str, Row] = {
    "sizes": Row("population x problems, beside the guide's figures", sizes),
    "generations": Row("five generations, limits as balanced", generations),
    "wide": Row("one generation, 200 in flight", wide),
}
