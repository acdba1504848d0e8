"""Speed presets: the numbers of the asynchronous evaluation guide, mapped onto our fields.

The guide gives calls per genome x genomes at once; their product is `max_concurrent`.
"""

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
