"""Deterministic unit vectors from the words of a text: texts that share words are near."""

import re
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from math import sqrt

DEFAULT_DIMENSIONS = 768
MOST_DIMENSIONS = 4096
PLACES_PER_WORD = 8  # spreads a word over the vector, so that two words rarely collide fully
PAIR_WEIGHT = 0.3  # word order counts, but less than the words

_word = re.compile(r"\w+")


def embed(text: str, dimensions: int = DEFAULT_DIMENSIONS) -> list[float]:
    """The vector of a text, of length 1."""
    vector = [0.0] * dimensions
    words = _word.findall(text.lower()) or [text]
    for word in words:
        _add(vector, word, 1.0)
    for left, right in pairwise(words):
        _add(vector, f"{left} {right}", PAIR_WEIGHT)
    length = sqrt(sum(value * value for value in vector))
    if length == 0:  # every place cancelled out: rare, and a zero vector has no direction
        vector[0] = length = 1.0
    return [value / length for value in vector]


def _add(vector: list[float], term: str, weight: float) -> None:
    dimensions = len(vector)
    for place, sign in _places(term):
        vector[place % dimensions] += sign * weight


@lru_cache(maxsize=20_000)
def _places(term: str) -> tuple[tuple[int, float], ...]:
    encoded = term.encode("utf-8", "surrogatepass")
    digest = blake2b(encoded, digest_size=4 * PLACES_PER_WORD).digest()
    numbers = (int.from_bytes(digest[i : i + 4], "big") for i in range(0, len(digest), 4))
    return tuple((number >> 1, 1.0 if number & 1 else -1.0) for number in numbers)
