"""Speed presets, and what other names of limits mean: those of the asynchronous evaluation guide.

The guide counts calls per genome and genomes at once; their product is `max_concurrent`. A genome
is a candidate here. The preset `endpoint` has no limits of its own: those of the endpoints hold.
"""

from collections.abc import Mapping
from typing import Any

DEFAULT_PRESET = "endpoint"
MOST_CONCURRENT = 5000  # calls at once of one run

PRESETS: dict[str, dict[str, Any]] = {
    "endpoint": {
        "max_concurrent": None,
        "batch_size": 20,
        "requests_per_minute": None,
        "attempts": 4,
        "timeout_seconds": 60.0,
        "max_concurrent_candidates": None,
        "candidate_batch_size": None,
    },
    "conservative": {
        "max_concurrent": 15,  # 3 candidates x 5 calls
        "batch_size": 10,
        "requests_per_minute": 2000,
        "attempts": 4,
        "timeout_seconds": 60.0,
        "max_concurrent_candidates": 3,
        "candidate_batch_size": 5,
    },
    "balanced": {
        "max_concurrent": 50,  # 5 candidates x 10 calls
        "batch_size": 20,
        "requests_per_minute": 3500,
        "attempts": 4,
        "timeout_seconds": 60.0,
        "max_concurrent_candidates": 5,
        "candidate_batch_size": 10,
    },
    "aggressive": {
        "max_concurrent": 120,  # 8 candidates x 15 calls
        "batch_size": 30,
        "requests_per_minute": 3500,
        "attempts": 3,
        "timeout_seconds": 60.0,
        "max_concurrent_candidates": 8,
        "candidate_batch_size": 15,
    },
}

OF_CANDIDATES = (
    "max_concurrent_candidates",
    "max_concurrent_per_candidate",
    "candidate_batch_size",
)
"""Only the schedule two_level has them. Who gives one and no schedule means that schedule."""

NULL_IS_NO_LIMIT = frozenset(
    ("max_concurrent", "requests_per_minute", "tokens_per_minute", *OF_CANDIDATES)
)
"""Elsewhere null is as good as leaving the field out."""

OTHER_NAMES = {
    "async_batch_size": "batch_size",
    "genome_batch_size": "candidate_batch_size",
    "max_concurrent_genomes": "max_concurrent_candidates",
    "max_concurrent_requests": "max_concurrent_per_candidate",
    "rate_limit_per_minute": "requests_per_minute",
    "async_timeout": "timeout_seconds",
    "detailed_performance_logging": "performance_summary",
}
NO_ASYNC = "enable_async_evaluation"  # false: one call at a time

EFFECTS = {
    "async_batch_size": "Problems of one genome that are taken together; no more of them are in "
    "flight at once.",
    "genome_batch_size": "Genomes that are worked off together. The next ones begin when all of "
    "these are done.",
    "max_concurrent_genomes": "Genomes at once.",
    "max_concurrent_requests": "Calls at once of one genome. Times the genomes at once, given or "
    "from the preset, it is max_concurrent.",
    "rate_limit_per_minute": "Calls that start in a minute.",
    "async_timeout": "Seconds after which a call has failed.",
    "detailed_performance_logging": "true adds a summary of the performance to the events when the "
    "run ends.",
    f"{NO_ASYNC}: false": "One call at a time.",
}


def written_otherwise() -> dict[str, str]:
    return {**OTHER_NAMES, f"{NO_ASYNC}: false": "schedule: sequential"}


def fill_limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every field that is known: as given, else as the preset has it."""
    limits = {
        name: value
        for name, value in rename_limits(given).items()
        if value is not None or name in NULL_IS_NO_LIMIT
    }
    if any(limits.get(name) is not None for name in OF_CANDIDATES):
        limits.setdefault("schedule", "two_level")
    preset = PRESETS.get(str(limits.get("preset")), PRESETS[DEFAULT_PRESET])
    if limits.get("schedule") != "two_level":  # they would mean nothing there
        preset = {name: value for name, value in preset.items() if name not in OF_CANDIDATES}
    filled = {**preset, **limits}
    if filled.get("schedule") == "sequential":
        return {**filled, "max_concurrent": 1}
    if "max_concurrent" not in limits:
        filled["max_concurrent"] = calls_at_once(filled)
    return filled


def rename_limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """By our own names. What is no name at all stays, for the schema to refuse."""
    limits = {OTHER_NAMES.get(name, name): value for name, value in given.items()}
    is_async = limits.get(NO_ASYNC)
    if not isinstance(is_async, bool):
        return limits
    del limits[NO_ASYNC]
    if is_async:
        return limits
    if limits.get("schedule", "sequential") != "sequential":
        raise ValueError(
            f"{NO_ASYNC}: false makes one call at a time, schedule: {limits['schedule']} does not. "
            "Leave one of the two out."
        )
    return {**limits, "schedule": "sequential"}


def calls_at_once(filled: Mapping[str, Any]) -> Any:
    """Calls of one candidate, where they are given, times the candidates at once."""
    each, candidates = (
        filled.get(f"max_concurrent_{of}") for of in ("per_candidate", "candidates")
    )
    if isinstance(each, int) and isinstance(candidates, int):
        return min(each * candidates, MOST_CONCURRENT)
    return filled["max_concurrent"]
