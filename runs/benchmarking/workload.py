"""The work that is measured: questions that all differ, and the configurations that ask them."""

from typing import Any

from workers.simulator.demo import DEMO_PROMPTS

LARGEST_LEFT = 90_000  # sums stay small enough for any model's tokens
MAX_TOKENS = 32  # of an answer of a real model: a number, and what it cannot help saying
TIMEOUT_SECONDS = 60.0
SYSTEM = "Answer with the number only."
SIMULATED_ENDPOINT = "simulated"
SIMULATED_MODEL = "sim-small"  # the one whose latency is the server's, without a factor

# Two-level against work-conserving: 3 prompts x 3 models x 15 cases, some models three times as
# slow as others, single answers up to nine tenths off their model's mean.
UNEVEN_MODELS = {"sim-small": 0.5, "sim-medium": 1.0, "sim-large": 3.0}
UNEVEN_JITTER = 0.9
UNEVEN_CASES = 15
UNEVEN_SLOTS = 20


def questions(count: int, series: int) -> list[dict[str, str]]:
    """Sums that differ from each other and from those of every other series below 1,000."""
    rows = []
    for index in range(count):
        left, right = 100 + index % LARGEST_LEFT, 1000 * (1 + index // LARGEST_LEFT) + series
        row = {"question": f"What is {left} + {right}?", "expected": str(left + right)}
        rows.append(row)
    return rows


def even_work(
    dataset: str, model: dict[str, Any], *, concurrency: int, cache: str, attempts: int
) -> dict[str, Any]:
    """One prompt on every case, as many at once as asked."""
    return {
        "name": dataset,
        "kind": "evaluate",
        "dataset": dataset,
        "prompts": [{"name": "terse", "system": SYSTEM, "user": "{{question}}"}],
        "models": [model],
        "scorers": [{"numeric": {"tolerance": 0.001}}],
        "limits": limits(concurrency, attempts=attempts),
        "cache": cache,
    }


def uneven_work(dataset: str, schedule: str) -> dict[str, Any]:
    """Nine candidates of very different speed on fifteen cases."""
    return {
        "name": f"{dataset} {schedule}",
        "kind": "evaluate",
        "dataset": dataset,
        "prompts": [prompt._asdict() for prompt in DEMO_PROMPTS],
        "models": [f"{SIMULATED_ENDPOINT}/{model}" for model in UNEVEN_MODELS],
        "scorers": [{"numeric": {"tolerance": 0.001}}],
        "limits": {**limits(UNEVEN_SLOTS, attempts=4), "schedule": schedule},
        "cache": "off",
    }


def limits(concurrency: int, *, attempts: int) -> dict[str, Any]:
    return {
        "max_concurrent": concurrency,
        "requests_per_minute": None,  # the endpoint's own limit holds
        "timeout_seconds": TIMEOUT_SECONDS,
        "attempts": attempts,
    }
