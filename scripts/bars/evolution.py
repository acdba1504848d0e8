"""Rows on prompts that evolve: words changed by chance, so that nothing but evaluations is asked.
Bars are the figures of the guide that the presets come from, which are estimates there, and our
own."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from runs.benchmarking.measuring import Measurement
from runs.benchmarking.workload import TIMEOUT_SECONDS
from runs.models import Run
from scripts.bars.judging import Bar, Outcome, at_least, at_most, exactly
from scripts.bars.stage import Stage
from workers.engine.spec.presets import PRESETS

SEEDS = (
    "Answer the question with the number only.",
    "You are a calculator. Work out the sum and say the result.",
    "Read the task, think about it carefully, then give one number.",
    "Please solve this. Be brief, be exact, and do not explain.",
)
ELITE = 5
SLOTS_OF_BALANCED = 50
LATENCY_MS = 200.0


class Size(NamedTuple):
    population: int
    problems: int

    def __str__(self) -> str:
        return f"{self.population} x {self.problems}"


SLICE = Size(population=5, problems=6)  # one at a time is slow: 30 trials tell its speed

# What the guide says: speed-ups by size, and problems a second one at a time, in batches, at best.
CLAIMED_SPEEDUPS = {Size(30, 50): 3.8, Size(50, 100): 4.3, Size(100, 100): 5.0}
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
    model: dict[str, Any]

    def grow(
        self, size: Size, limits: dict[str, Any], dataset: str, generations: int = 1
    ) -> Evolved:
        document = evolution_work(
            dataset, self.model, limits, population=size.population, generations=generations
        )
        most = size.population * size.problems * generations
        expected = most / calls_per_second(document["limits"]["max_concurrent"])
        found = self.stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=expected)
        return evolved(found)


def evolved(found: Measurement) -> Evolved:
    run = Run.objects.get(pk=found.run_id)
    cached = run.cached + run.told("cached")  # with what joined an equal call
    return Evolved(found, run.asked, run.calls_sent, cached - run.calls_joined, run.calls_joined)


def bed_of(stage: Stage) -> Bed:
    stage.provider(latency_ms=LATENCY_MS)
    return Bed(stage, stage.endpoint())


def calls_per_second(slots: int) -> float:
    return slots * 1000 / LATENCY_MS


def sizes(stage: Stage) -> Outcome:
    """One generation of each size, beside a slice one at a time, and once more from the cache."""
    bed = bed_of(stage)
    dataset = stage.dataset(SLICE.problems)
    slow = bed.grow(SLICE, {**slots(1), "schedule": "sequential"}, dataset)
    sequential = slow.found.trials_per_second
    bars = [at_least("one at a time: problems/s", 2.0, sequential)]
    for part, size in enumerate(CLAIMED_SPEEDUPS, start=1):
        bars += bars_of_size(bed, size, stage.dataset(size.problems, part), sequential)
    return Outcome(
        bars,
        f"one generation, {LATENCY_MS:.0f} ms, {SLOTS_OF_BALANCED} in flight; speed-ups against "
        f"{slow.asked} trials one at a time; the bars are the guide's: {CLAIMED_SEQUENTIAL} "
        f"problems/s one at a time, {CLAIMED_BATCHED} in batches, {CLAIMED_BEST:.0f} at best, and "
        "3.8, 4.3 and 5 times as fast",
    )


def bars_of_size(bed: Bed, size: Size, dataset: str, sequential: float) -> list[Bar]:
    cold, warm = (bed.grow(size, slots(SLOTS_OF_BALANCED), dataset) for _ in range(2))
    per_second = cold.found.trials_per_second
    return [
        at_least(f"{size}: problems/s", CLAIMED_BEST, per_second),
        at_least(f"{size}: times as fast", CLAIMED_SPEEDUPS[size], per_second / sequential),
        at_least(f"{size}, again: answers from the cache", 1.0, warm.hit_rate, "%"),
        at_least(f"{size}, again: problems/s", CLAIMED_BEST, warm.found.trials_per_second),
        unaccounted(str(size), cold, warm),
    ]


def generations(stage: Stage) -> Outcome:
    """Barriers between generations cost little: children are planned and stored meanwhile."""
    bed, size = bed_of(stage), GENERATIONS_SIZE
    alone, preset = f"{SLOTS_OF_BALANCED} in flight", "balanced, with its requests a minute"
    limits = {"preset": "balanced", "max_concurrent": SLOTS_OF_BALANCED}
    datasets = [stage.dataset(size.problems, part) for part in range(2)]
    first = bed.grow(size, slots(SLOTS_OF_BALANCED), datasets[0], GENERATIONS)
    second = bed.grow(size, limits, datasets[1], GENERATIONS)
    per_second = PRESETS["balanced"]["requests_per_minute"] / 60
    ratio = first.found.wall_seconds / (first.sent / calls_per_second(SLOTS_OF_BALANCED))
    preset_ratio = second.found.wall_seconds / (second.sent / per_second)
    bars = [
        at_most(f"wall / ideal, {alone}", MOST_RATIO, ratio),
        at_most(f"wall / ideal, {preset}", MOST_RATIO, preset_ratio),
        exactly(f"peak at the provider, {alone}", SLOTS_OF_BALANCED, peak(first)),
        at_most(f"peak at the provider, {preset}", SLOTS_OF_BALANCED, peak(second)),
        unaccounted("both", first, second),
        exactly("evaluations that failed", 0, first.found.failed + second.found.failed),
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
    one = bed.grow(WIDE_SIZE, slots(WIDE_SLOTS), dataset)
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


def evolution_work(
    dataset: str,
    model: dict[str, Any],
    limits: dict[str, Any],
    *,
    population: int,
    generations: int,
) -> dict[str, Any]:
    """Every genome on every case, however good the prompts get."""
    return {
        "name": dataset,
        "kind": "evolve",
        "dataset": dataset,
        "prompts": [
            {"name": f"seed {place}", "system": text, "user": "{{question}}"}
            for place, text in enumerate(SEEDS, start=1)
        ],
        "models": [model],
        "scorers": [{"numeric": {"tolerance": 0.001}}],
        "operators": ["words"],
        "strategy": {
            "name": "genetic",
            "population_size": population,
            "max_generations": generations,
            "elite_size": min(ELITE, population // 2),
            "all_cases": True,
            "target_fitness": None,
            "patience": None,
            "least_diversity": 0.0,
        },
        "limits": limits,
        "cache": "use",
    }


def slots(count: int) -> dict[str, Any]:
    """So many at once, and no limit on requests a minute."""
    return {
        "max_concurrent": count,
        "requests_per_minute": None,
        "timeout_seconds": TIMEOUT_SECONDS,
    }
