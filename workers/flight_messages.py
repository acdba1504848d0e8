"""What worker processes tell each other about flights, through flights.lua."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import NamedTuple

from workers.engine.calling.cache import stored_reply
from workers.engine.json_text import to_json
from workers.engine.records import Reply

SHORTEST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.02, 0.3  # between looks at others' flights
LARGEST_HANDED = 256 * 1024  # characters; larger answers are read from the database


@dataclass(slots=True)
class Claim:
    """A call that wants to fly, or to know what became of an equal one."""

    key: str
    is_scoped: bool
    future: asyncio.Future[Reply | None]  # an answer to join, or None: fly
    since: float
    due: float


class Ending(NamedTuple):
    how: str  # see flights.lua
    reply: Reply | None = None
    is_scoped: bool = False


class Answer(NamedTuple):
    """What an exchange brings back; see flights.lua."""

    wanted: list[int]
    letters: bytes
    replies: list[bytes]


@dataclass(slots=True)
class Outbox:
    """What one exchange carries."""

    endings: dict[str, Ending] = field(default_factory=dict)
    renewals: list[str] = field(default_factory=list)
    claims: dict[str, Claim] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.endings or self.renewals or self.claims)

    def arguments(self) -> list[str | int]:
        """As flights.lua reads them. Neither names nor JSON have line breaks."""
        names = "\n".join([*self.endings, *self.renewals, *self.claims])
        hows = "\n".join([ending.how for ending in self.endings.values()])
        return [len(self.endings), len(self.renewals), names, hows]


def ending_of(reply: Reply, is_scoped: bool) -> Ending:
    """Who refreshes leaves no mark in the way of the next call, and shares only while it flies."""
    if not is_scoped:
        return Ending("d", reply)
    is_large = len(reply.text) > LARGEST_HANDED  # and others of the run may not read the cache
    return Ending("x" if is_large else "f", reply, is_scoped)


def resolve(claim: Claim, reply: Reply | None) -> None:
    if not claim.future.done():
        claim.future.set_result(reply)


def look_again_seconds(waited_seconds: float) -> float:
    """Soon for what is short, rarely for what is long: adds little to either."""
    return min(max(0.15 * waited_seconds, SHORTEST_LOOK_SECONDS), LONGEST_LOOK_SECONDS)


def write_reply(reply: Reply) -> str:
    values = [reply.text, reply.latency_ms, reply.tokens_in, reply.tokens_out, reply.truncated]
    return to_json(values).decode()


def read_reply(text: bytes) -> Reply | None:
    """None if it is not what `write_reply` wrote: then the database has it."""
    try:
        values = json.loads(text)
    except ValueError:
        return None
    if not isinstance(values, list) or len(values) != 5:
        return None
    return stored_reply(*values)
