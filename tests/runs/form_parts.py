"""The form of a new run, as a browser sends it."""

from typing import Any


def small_form(**changes: Any) -> dict[str, Any]:
    """One prompt on the sums that the fixture `dataset` makes."""
    return {
        "name": "sent",
        "mode": "form",
        "dataset_source": "stored",
        "dataset": "sums",
        "prompts": ["0"],
        "prompt-0-name": "plain",
        "prompt-0-user": "{{question}}",
        "models": ["simulated/sim-small"],
        "scorers": ["exact"],
        "preset": "balanced",
        **changes,
    }
