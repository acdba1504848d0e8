"""One flight per key over the whole cluster: equal calls of all workers are made once.

Who flies holds a lock in Redis and renews it; the others look again, all of a process in one
question, until there is an answer or the lock is free. Claims and endings of a process travel
together, so that a call nobody joins costs a part of one round trip before it and one after it.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import redis.asyncio
from redis.exceptions import RedisError

from workers.engine.calling.cache import Call, Landing, SingleFlight
from workers.engine.ending_tasks import end_tasks
from workers.engine.records import Reply
from workers.flight_messages import (
    LARGEST_HANDED,
    Answer,
    Claim,
    Ending,
    Outbox,
    ending_of,
    look_again_seconds,
    read_reply,
    resolve,
    write_reply,
)

logger = logging.getLogger(__name__)

EXCHANGE = Path(__file__).with_name("flights.lua").read_text()
LOCK_SECONDS = 10.0  # a dead process's flights are free again after this long
RENEWALS_PER_LOCK = 3.3
KEPT_SECONDS = 10.0  # mostly an answer is in the database long before that; else it is prolonged
HANDED_SECONDS = 3.0  # how long who refreshes may still join an answer that has just arrived
LINGER_SECONDS = 0.2  # endings wait for each other, or for a claim, to travel together
EARLY_SECONDS = 0.002  # an event loop's timer may ring this much before its time
ANSWER_SECONDS = 2.0  # a Redis that does not answer must not stop the calls
AWAY_SECONDS = 2.0  # between looking whether it is back
READ_SECONDS = 30.0  # a look into the database may take this long
MOST_CLAIMS = 1000  # in one exchange: Redis does nothing else meanwhile

ReadCache = Callable[[Sequence[str]], Awaitable[Mapping[str, Reply]]]
Unstored = Callable[[], Collection[str]]


class RedisFlights(SingleFlight):
    """Flights shared by all workers; while Redis is away, by those of one process only."""

    def __init__(
        self,
        client: "redis.asyncio.Redis",
        holder: str,
        read_cache: ReadCache,
        lock_seconds: float = LOCK_SECONDS,
        unstored: Unstored = tuple,
    ) -> None:
        """`unstored` are the keys of answers of this process that are not in the cache yet."""
        super().__init__()
        self._unstored = unstored
        self._landed: dict[str, str] = {}  # the keys of flights that may be among them, by name
        self._script = client.register_script(EXCHANGE)
        self._read_cache = read_cache
        self._renew_seconds = lock_seconds / RENEWALS_PER_LOCK
        times = (lock_seconds, KEPT_SECONDS, HANDED_SECONDS)
        self._arguments: list[str | int] = [holder, *(int(1000 * seconds) for seconds in times)]
        self._claims: dict[str, Claim] = {}
        self._endings: dict[str, Ending] = {}
        self._flying: set[str] = set()  # the names whose locks are ours
        self._exchanged = self._renewed = time.monotonic()
        self._is_away = False
        self._wake = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = 0.0
        self._keeper: asyncio.Task[None] | None = None
        self._reads: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Free what this process still holds. Calls under way should have been stopped before."""
        self._forget_alarm()
        await end_tasks([*([self._keeper] if self._keeper else []), *self._reads])
        for name in self._flying:
            self._endings[name] = Ending("x")
        self._flying.clear()
        with contextlib.suppress(RedisError, OSError):
            await self._send(Outbox(endings=self._endings))

    async def _take_off(self, key: str, call: Call, scope: str) -> Landing:
        name, is_scoped = f"flight:{scope}{key}", bool(scope)
        if self._is_away or name in self._claims or name in self._flying:
            # Without the others, or one of those that have seen too many flights of others fail.
            return Landing(await call(), is_joined=False)
        joined = await self._claim(name, key, is_scoped)
        if joined is not None:
            return Landing(joined, is_joined=True)
        try:
            reply = await call()
        except BaseException:
            self._end(name, Ending("x"))
            raise
        self._end(name, ending_of(reply, is_scoped))
        if not is_scoped:
            self._landed[name] = key
        return Landing(reply, is_joined=False)

    async def _claim(self, name: str, key: str, is_scoped: bool) -> Reply | None:
        """Wait, without a permit, until there is an answer to join or the flight is ours."""
        now = time.monotonic()
        future: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        claim = self._claims[name] = Claim(key, is_scoped, future, now, now)
        self._ensure_keeper()
        self._wake.set()
        try:
            return await future
        finally:
            if self._claims.get(name) is claim:
                del self._claims[name]

    def _end(self, name: str, ending: Ending) -> None:
        if name not in self._flying:
            return  # it flew without a lock, because Redis was away
        self._flying.discard(name)
        if self._is_away:
            return  # the lock will expire
        self._endings[name] = ending
        self._wake_at(self._exchanged + LINGER_SECONDS)

    def _ensure_keeper(self) -> None:
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.get_running_loop().create_task(self._keep())

    async def _keep(self) -> None:
        """The one task of this process that talks to Redis about flights."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._exchange()
            self._forget_alarm()  # what it was for may have travelled already
            for moment in self._next_moments():
                self._wake_at(moment)

    def _next_moments(self) -> list[float]:
        if self._is_away:
            return [time.monotonic() + AWAY_SECONDS]
        moments = [claim.due for claim in self._claims.values() if not claim.future.done()]
        if self._endings:
            moments.append(self._exchanged + LINGER_SECONDS)
        if self._flying or self._landed:
            moments.append(self._renewed + self._renew_seconds)
        return [min(moments)] if moments else []

    def _wake_at(self, moment: float) -> None:
        """Wake the keeper then, if nothing wakes it before."""
        if self._alarm is not None:
            if self._alarm_at <= moment:
                return
            self._alarm.cancel()
        self._alarm_at = moment
        delay = max(0.0, moment - time.monotonic())
        self._alarm = asyncio.get_running_loop().call_later(delay, self._ring)

    def _forget_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None

    def _ring(self) -> None:
        self._alarm = None
        self._wake.set()

    async def _exchange(self) -> None:
        outbox = self._collect()
        if outbox.is_empty and not self._is_away:
            return
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._send(outbox)
        except (RedisError, OSError):
            self._go_on_alone(outbox)
            return
        except asyncio.CancelledError:  # at a stop, which sends them again
            self._endings = {**outbox.endings, **self._endings}
            raise
        self._is_away = False
        self._exchanged = time.monotonic()
        self._hand_over(outbox.endings, answer.wanted)
        self._tell(outbox.claims, answer)

    def _collect(self) -> Outbox:
        """What is due. Endings travel with anything else, and alone after a while."""
        now = time.monotonic() + EARLY_SECONDS
        outbox = Outbox()
        for name, claim in self._claims.items():
            is_due = claim.due <= now and not claim.future.done()
            if is_due and len(outbox.claims) < MOST_CLAIMS:
                outbox.claims[name] = claim
        if (self._flying or self._landed) and now >= self._renewed + self._renew_seconds:
            self._renewed = now
            outbox.renewals = list(self._flying)
            self._prolong_landed()
        is_time = now >= self._exchanged + LINGER_SECONDS
        if self._endings and (is_time or not outbox.is_empty):
            outbox.endings, self._endings = self._endings, {}
        return outbox

    def _prolong_landed(self) -> None:
        """While the database is away or slow, nobody pays again for what has arrived."""
        unstored = self._unstored()
        self._landed = {name: key for name, key in self._landed.items() if key in unstored}
        self._endings = {**dict.fromkeys(self._landed, Ending("k")), **self._endings}

    async def _send(self, outbox: Outbox) -> Answer:
        answer: Any = await self._script(args=[*self._arguments, *outbox.arguments()])
        return Answer(*answer)

    def _hand_over(self, endings: Mapping[str, Ending], wanted: Sequence[int]) -> None:
        """Others wait for these: give them the answer itself, before it is in the database."""
        sent = list(endings.items()) if wanted else []
        for place in wanted:
            name, ending = sent[place - 1]
            if ending.reply is not None and len(ending.reply.text) <= LARGEST_HANDED:
                how = "s" if ending.is_scoped else "r"
                self._endings[name] = Ending(how + write_reply(ending.reply))
                self._exchanged = 0.0  # at once
                self._wake.set()

    def _tell(self, claims: Mapping[str, Claim], answer: Answer) -> None:
        now = time.monotonic()
        replies = iter(answer.replies)
        landed: list[Claim] = []
        for (name, claim), letter in zip(claims.items(), answer.letters.decode(), strict=True):
            if letter == "m":
                self._grant(name, claim)
                continue
            claim.due = now + look_again_seconds(now - claim.since)
            reply = read_reply(next(replies)) if letter == "r" else None
            if reply is not None:
                resolve(claim, reply)
            elif letter != "w" and not claim.is_scoped:  # who refreshes does not read the cache
                landed.append(claim)
        if landed:
            read = asyncio.create_task(self._look_up(landed))
            self._reads.add(read)
            read.add_done_callback(self._reads.discard)

    def _grant(self, name: str, claim: Claim) -> None:
        self._flying.add(name)
        if claim.future.done():  # cancelled meanwhile: let somebody else fly
            self._end(name, Ending("x"))
            return
        claim.future.set_result(None)

    async def _look_up(self, claims: Sequence[Claim]) -> None:
        """The flights have landed. Until their answers are stored, look again."""
        for claim in claims:
            claim.due = time.monotonic() + READ_SECONDS
        try:
            found = await self._read_cache([claim.key for claim in claims])
        except Exception:
            logger.exception("The cache could not be read; looking again.")
            found = {}
        now = time.monotonic()
        for claim in claims:
            claim.due = now + look_again_seconds(now - claim.since)
            if (reply := found.get(claim.key)) is not None:
                resolve(claim, reply)
        self._wake.set()

    def _go_on_alone(self, outbox: Outbox) -> None:
        """Redis is away: what waits flies, once per process. Our locks will expire there."""
        if not self._is_away:
            logger.warning("Redis is away: equal calls are joined within each worker only.")
        self._is_away = True
        self._endings.clear()
        for claim in [*outbox.claims.values(), *self._claims.values()]:
            resolve(claim, None)
