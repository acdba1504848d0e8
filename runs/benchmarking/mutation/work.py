"""Trainings to be measured: every step asks the three models, and nothing is asked twice."""

from typing import Any

from runs.benchmarking.workload import TIMEOUT_SECONDS

ENVIRONMENTS = 16
OPERATORS = ("paraphrase", "passive_voice")


def mutation_work(
    dataset: str, model: dict[str, Any], *, at_once: int, steps: int
) -> dict[str, Any]:
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
            "num_steps": steps,
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
