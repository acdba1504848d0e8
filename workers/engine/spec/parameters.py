"""Parameters of a model: any name goes to the provider, but those every provider has are checked
before a run pays for finding out."""

from collections.abc import Mapping
from typing import Any

RANGES: dict[str, tuple[float, float]] = {"temperature": (0, 10), "top_p": (0, 1)}
MOST_TOKENS = 10_000_000


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raises ValueError with what is wrong and what is allowed."""
    for name, (low, high) in RANGES.items():
        value = parameters.get(name, low)
        if not is_number(value) or not low <= value <= high:
            raise ValueError(f"{name} is {value!r}. Give a number from {low} to {high}.")
    tokens = parameters.get("max_tokens", 1)
    if not is_number(tokens) or tokens != int(tokens) or not 1 <= tokens <= MOST_TOKENS:
        raise ValueError(
            f"max_tokens is {tokens!r}. Give a whole number from 1 to {MOST_TOKENS:,}."
        )


def is_number(value: Any) -> bool:
    """A finite one; True and False are not meant as numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
