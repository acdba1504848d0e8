"""Evolutions to be measured: words changed by chance, so that nothing but evaluations is asked."""

from typing import Any

from runs.benchmarking.workload import TIMEOUT_SECONDS

SEEDS = (
    "Answer the question with the number only.",
    "You are a calculator. Work out the sum and say the result.",
    "Read the task, think about it carefully, then give one number.",
    "Please solve this. Be brief, be exact, and do not explain.",
)
ELITE = 5
SLOTS_OF_BALANCED = 50


def evolution_work(
    dataset: str,
    model: dict[str, Any],
    limits: dict[str, Any],
    *,
    population: int,
    generations: int = 1,
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


def one_at_a_time() -> dict[str, Any]:
    return {**slots(1), "schedule": "sequential"}


def balanced() -> dict[str, Any]:
    """The preset as people choose it, with its limit on requests a minute."""
    return {"preset": "balanced", "max_concurrent": SLOTS_OF_BALANCED}
