"""Speed presets: the numbers of the asynchronous evaluation guide, mapped onto our fields.

The guide gives calls per genome x genomes at once; their product is `max_concurrent`.
"""

from collections.abc import Mapping
from typing import Any

DEFAULT_PRESET = "balanced"

PRESETS: dict[str, dict[str, Any]] = {
    "conservative": {
        "max_concurrent": 15,  # 5 calls x 3 candidates
        "batch_size": 10,
        "requests_per_minute": 2000,
        "attempts": 4,
        "timeout_seconds": 60.0,
    },
    "balanced": {
        "max_concurrent": 50,  # 10 calls x 5 candidates
        "batch_size": 20,
        "requests_per_minute": 3500,
        "attempts": 4,
        "timeout_seconds": 60.0,
    },
    "aggressive": {
        "max_concurrent": 120,  # 15 calls x 8 candidates
        "batch_size": 30,
        "requests_per_minute": 3500,
        "attempts": 3,
        "timeout_seconds": 60.0,
    },
}

OTHER_NAMES = {
    "async_batch_size": "batch_size",
    "genome_batch_size": "candidate_batch_size",
    "max_concurrent_genomes": "max_concurrent_candidates",
    "rate_limit_per_minute": "requests_per_minute",
    "async_timeout": "timeout_seconds",
}


def rename_limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """The guide's own names are understood too. Its calls are counted per genome; ours are not."""
    limits = {OTHER_NAMES.get(name, name): value for name, value in given.items()}
    per_candidate = limits.pop("max_concurrent_requests", None)
    if per_candidate is None:
        return limits
    at_once = limits.get("max_concurrent_candidates") or 1
    is_number = isinstance(per_candidate, int) and isinstance(at_once, int)
    return {"max_concurrent": per_candidate * at_once if is_number else per_candidate, **limits}
