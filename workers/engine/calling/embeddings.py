"""Embeddings: each text is a request of its own, with its own key in the cache and its own reply.

Whoever has an `ask` can embed. On the wire texts travel together (`text_batches.py`).
"""

import asyncio
from array import array
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Sequence
from math import hypot
from operator import mul
from typing import NamedTuple

from workers.engine.errors import CallError, MalformedAnswer
from workers.engine.records import Reply, Request
from workers.engine.spec.model_choice import ModelChoice

EMBEDDINGS_PATH = "/embeddings"
# How a vector is kept as the text of a reply: a quarter of the size that its numbers have in JSON,
# and providers compute with no more digits.
KEPT_AS = "float32 "

Vector = Sequence[float]
Ask = Callable[[Request], Awaitable[Reply]]


class Embedded(NamedTuple):
    """A text's vector, or why there is none."""

    vector: Vector | None
    error: CallError | None = None


async def embed(ask: Ask, model: ModelChoice, texts: Sequence[str]) -> list[Embedded]:
    """In the order of the texts. A text that cannot be embedded fails alone."""
    return await asyncio.gather(*(embed_one(ask, model, text) for text in texts))


async def embed_one(ask: Ask, model: ModelChoice, text: str) -> Embedded:
    try:
        reply = await ask(embedding_request(model, text))
        return Embedded(read_vector(reply.text))
    except CallError as error:
        return Embedded(None, error)


def embedding_request(model: ModelChoice, text: str) -> Request:
    body = {**model.parameters, "model": model.model, "input": text}
    return Request(model.endpoint, model.model, EMBEDDINGS_PATH, body)


def write_vector(vector: Vector) -> str:
    return KEPT_AS + b64encode(array("f", vector).tobytes()).decode()


def read_vector(text: str) -> Vector:
    numbers = array("f")
    try:
        numbers.frombytes(b64decode(text.removeprefix(KEPT_AS), validate=True))
    except ValueError:
        raise MalformedAnswer("What is kept of this text is no vector.") from None
    return numbers


def is_vector(text: str) -> bool:
    return text.startswith(KEPT_AS)


def describe_vector(text: str) -> str:
    """What a page shows in its place: the numbers say nothing to a person."""
    try:
        numbers = read_vector(text)
    except MalformedAnswer:  # an answer that only begins like one
        return text
    first = ", ".join(f"{number:.4f}" for number in numbers[:4])
    return f"A vector of {len(numbers):,} numbers: {first}…"


def cosine(left: Vector, right: Vector) -> float:
    """From -1 to 1; 0 where one of them has no direction."""
    lengths = hypot(*left) * hypot(*right)
    return sum(map(mul, left, right)) / lengths if lengths else 0.0
