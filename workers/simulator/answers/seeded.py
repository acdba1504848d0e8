"""Every random-looking choice of the simulated provider: a hash of a seed and its occasion."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

Option = TypeVar("Option")


def counted(text: str) -> int:
    """A 64-bit number that is the same for the same text in every process."""
    # surrogatepass: a request may carry a lone surrogate, and it must not crash us.
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def draw(seed: int, *parts: object) -> float:
    """A number in [0, 1) that depends on nothing but the seed and the parts."""
    return counted("\x1f".join(map(str, (seed, *parts)))) / 2**64


def pick(options: Sequence[Option], seed: int, *parts: object) -> Option:
    """One of the options, always the same for the same seed and parts."""
    return options[int(draw(seed, *parts) * len(options))]
