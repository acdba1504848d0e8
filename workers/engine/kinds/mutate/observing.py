"""Observations: the embedding of a query, as many numbers as the policy has inputs.

They are kept as 32-bit floats, in records and in what a policy sees, so that a replay sees the same
bits as the worker did.
"""

import re
from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from math import sqrt

PLACES_PER_WORD = 8  # spreads a word over the vector, so that two words rarely collide fully
PAIR_WEIGHT = 0.3  # word order counts, but less than the words
LOCAL = "hashing"  # the embedder where no model is named

_word = re.compile(r"\w+")

Observation = Sequence[float]  # an array of 32-bit floats


def fit(vector: Sequence[float], size: int) -> Observation:
    """Of a fixed size: shorter vectors are padded with zeros, longer ones folded, piece upon piece
    with signs of their own, which keeps near vectors near. Whatever the model gives, their numbers
    are about 1, as networks learn best from."""
    numbers = [0.0] * size
    for place, number in enumerate(vector):
        sign = -1.0 if place >= size and sign_of(place) else 1.0
        numbers[place % size] += sign * number
    length = sqrt(sum(number * number for number in numbers))
    scale = sqrt(size) / length if length else 0.0
    return array("f", [number * scale for number in numbers])


def sign_of(place: int) -> int:
    return blake2b(b"%d" % place, digest_size=1).digest()[0] & 1


def hash_words(text: str, size: int) -> Observation:
    """A local embedder without a model: texts that share words are near."""
    numbers = [0.0] * size
    words = _word.findall(text.lower()) or [text]
    for word in words:
        add(numbers, word, 1.0)
    for left, right in pairwise(words):
        add(numbers, f"{left} {right}", PAIR_WEIGHT)
    return fit(numbers, size)


def add(numbers: list[float], term: str, weight: float) -> None:
    found = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4 * PLACES_PER_WORD).digest()
    for start in range(0, len(found), 4):
        drawn = int.from_bytes(found[start : start + 4], "big")
        numbers[(drawn >> 1) % len(numbers)] += weight if drawn & 1 else -weight


def write(observation: Observation) -> str:
    return b64encode(array("f", observation).tobytes()).decode()


def read(text: str) -> Observation:
    numbers = array("f")
    numbers.frombytes(b64decode(text))
    return numbers
