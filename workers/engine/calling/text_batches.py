"""Sends texts to be embedded several in one request, of all trials that ask at the same time.

A request on the wire takes one permit and is one call, which the first of its texts counts. Its
tokens are shared out by the length of the texts. When a provider refuses a request, it is halved
until the text that is at fault stands alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from workers.engine.calling.embeddings import write_vector
from workers.engine.clock import Clock
from workers.engine.errors import (
    BadCredentials,
    CallError,
    ConnectionFailed,
    ForbiddenAddress,
    RateLimited,
)
from workers.engine.lanes import BatchLane
from workers.engine.records import BATCHED, Attempt, Reply, Request

MOST_TEXTS = 32  # in one request; their vectors as JSON stay below the largest answer we read
WAIT_SECONDS = 0.01  # for more texts; a call takes several times as long
NO_TEXTS_FAULT = (RateLimited, BadCredentials, ConnectionFailed, ForbiddenAddress)

Send = Callable[[Request, list[Attempt]], Awaitable[Reply]]


class Item(NamedTuple):
    request: Request  # of one text
    send: Send  # how its run calls


class Outcome(NamedTuple):
    """What became of one text, with its part of the way there."""

    reply: Reply | None
    error: CallError | None
    attempts: list[Attempt]


class TextBatches:
    """One lane for each place: texts that may travel together."""

    def __init__(self, most: int = MOST_TEXTS, wait_seconds: float = WAIT_SECONDS) -> None:
        self._most = most
        self._wait_seconds = wait_seconds
        self._lanes: dict[Hashable, BatchLane[Item, Outcome]] = {}

    async def call(self, place: Hashable, item: Item, clock: Clock) -> Outcome:
        lane = self._lanes.get(place)
        if lane is None:
            lane = BatchLane(send_together, self._most, self._wait_seconds, clock)
            self._lanes[place] = lane
        try:
            return await lane.call(item)
        finally:
            if lane.is_idle and self._lanes.get(place) is lane:
                del self._lanes[place]

    async def close(self) -> None:
        for lane in list(self._lanes.values()):
            await lane.close()


async def send_together(items: Sequence[Item]) -> list[Outcome]:
    texts: list[str] = [item.request.body["input"] for item in items]
    request = replace(items[0].request, body={**items[0].request.body, "input": texts})
    trace: list[Attempt] = []
    try:
        reply = await items[-1].send(request, trace)  # as its run calls now
    except CallError as error:
        found = [Outcome(None, error, attempts) for attempts in share_attempts(trace, items)]
        if len(items) == 1 or isinstance(error, NO_TEXTS_FAULT):
            return found
        return after(found, await send_halves(items))
    tokens = share_tokens(reply.tokens_in, texts)
    service = reply.service
    return [
        Outcome(
            Reply(write_vector(vector), reply.latency_ms, count, 0, service=service), None, attempts
        )
        for vector, count, attempts in zip(
            reply.vectors, tokens, share_attempts(trace, items), strict=True
        )
    ]


async def send_halves(items: Sequence[Item]) -> list[Outcome]:
    half = len(items) // 2
    parts = await asyncio.gather(send_together(items[:half]), send_together(items[half:]))
    return [outcome for part in parts for outcome in part]


def after(earlier: Sequence[Outcome], later: Sequence[Outcome]) -> list[Outcome]:
    pairs = zip(earlier, later, strict=True)
    return [new._replace(attempts=old.attempts + new.attempts) for old, new in pairs]


def share_attempts(trace: list[Attempt], items: Sequence[Item]) -> list[list[Attempt]]:
    """The calls are the first text's, so that adding up gives those on the wire; the others say
    how the last one went."""
    last = trace[-1:]  # none when it failed before it was sent
    own = [a._replace(what=BATCHED) for a in last]
    steps = [item.request.step for item in items]
    return [
        [attempt._replace(step=step) for attempt in (own if number else trace)]
        for number, step in enumerate(steps)
    ]


def share_tokens(total: int | None, texts: Sequence[str]) -> list[int | None]:
    """By length, in whole tokens that add up to the total."""
    if total is None:
        return [None] * len(texts)
    length = sum(map(len, texts)) or 1
    ends, seen = [0], 0
    for text in texts:
        seen += len(text)
        ends.append(round(total * seen / length))
    ends[-1] = total
    return [end - start for start, end in pairwise(ends)]
