"""Flights over a real Redis: equal calls of several processes are made once."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import redis.asyncio

from tests.conftest import shared_redis
from tests.harness.patience import PATIENCE_SECONDS
from tests.simulator.calls import until
from workers import redis_flights
from workers.engine.calling.cache import MemoryCache
from workers.engine.errors import ServerError
from workers.engine.records import Reply, Request
from workers.flight_messages import LARGEST_HANDED, read_reply, write_reply
from workers.redis_flights import RedisFlights

KEY = "0" * 64
REQUEST = Request("simulated", "small", "/chat", {})


class Provider:
    """Counts its calls; each waits for `may_answer`, then answers, or fails as often as told."""

    def __init__(self, text="four", failures=0, *, is_quick=False):
        self.calls = 0
        self.is_called = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.text, self.failures = text, failures
        if is_quick:
            self.may_answer.set()

    async def call(self):
        self.calls += 1
        self.is_called.set()
        await self.may_answer.wait()
        if self.calls <= self.failures:
            raise ServerError("The provider is ill.")
        return Reply(self.text, 12.5, 3, None)


class CountingCache(MemoryCache):
    looks = 0

    async def get_many(self, keys):
        self.looks += 1
        return await super().get_many(keys)


@asynccontextmanager
async def workers(url, number, cache=None, lock_seconds=PATIENCE_SECONDS, unstored=tuple):
    """As many flights as there would be worker processes, each with a connection of its own."""
    cache = cache or MemoryCache()
    clients = [redis.asyncio.Redis.from_url(url) for _ in range(number)]
    flights = [
        RedisFlights(client, f"worker{place}", cache.get_many, lock_seconds, unstored)
        for place, client in enumerate(clients)
    ]
    yield flights
    for each in flights:
        await each.close()
    for client in clients:
        await client.aclose()


@pytest.fixture(autouse=True)
def patience():
    """A test that stands still for a while finds its locks and answers as they were, and a Redis
    that is slow is not away."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("ANSWER_SECONDS", "AWAY_SECONDS", "KEPT_SECONDS", "HANDED_SECONDS"):
            patch.setattr(redis_flights, name, PATIENCE_SECONDS)
        yield


@pytest.fixture
def url(settings):
    return str(settings.REDIS_URL)


async def until_some_flight_is(state, flights=1):
    """Wait for what Redis knows of a flight: w others wait for it, d it has landed."""

    def is_so():
        states = [shared_redis().get(key) or b"" for key in shared_redis().keys("flight:*")]
        return sum(found.decode().startswith(state) for found in states) >= flights

    await until(is_so)


async def test_a_thousand_equal_calls_of_four_processes_are_one(url):
    provider = Provider()
    async with workers(url, 4) as flights, asyncio.TaskGroup() as group:
        tasks = [group.create_task(flights[n % 4].fly(KEY, provider.call)) for n in range(1000)]
        await until_some_flight_is("w")
        provider.may_answer.set()
    landings = [task.result() for task in tasks]
    assert provider.calls == 1
    assert {landing.reply.text for landing in landings} == {"four"}
    assert {(landing.reply.latency_ms, landing.reply.tokens_in) for landing in landings} == {
        (12.5, 3)
    }
    assert Counter(landing.is_joined for landing in landings) == {True: 999, False: 1}


async def test_different_calls_do_not_wait_for_each_other(url):
    slow, quick = Provider(), Provider(is_quick=True)
    async with workers(url, 2) as flights:
        waiting = asyncio.create_task(flights[0].fly("a" * 64, slow.call))
        await slow.is_called.wait()
        landing = await flights[1].fly("b" * 64, quick.call)
        assert not landing.is_joined
        slow.may_answer.set()
        await waiting


async def test_calls_that_begin_while_others_are_answered_are_made_once(url):
    """The exchanges follow each other closely; none may undo what the one before it did."""
    provider = Provider()
    keys = [f"{n:064}" for n in range(60)]
    async with workers(url, 2) as flights, asyncio.TaskGroup() as group:
        for key in [*keys, *keys]:
            group.create_task(flights[0].fly(key, provider.call))
            group.create_task(flights[1].fly(key, provider.call))
            await asyncio.sleep(0.0005)  # spreads them over several exchanges
        await until_some_flight_is("w", len(keys))
        provider.may_answer.set()
    assert provider.calls == len(keys)


async def test_what_has_landed_stays_marked_until_it_is_stored(url):
    """The database is away: nobody else may pay for the answer after KEPT_SECONDS."""
    quick, slow, unstored = Provider(is_quick=True), Provider(), {KEY}
    landed, flown = (f"flight:{key}" for key in (KEY, "f" * 64))
    short = 1000 * PATIENCE_SECONDS // 2

    async def until_prolonged(name):
        """Or shortened, to the lock of what flies."""
        shared_redis().pexpire(name, int(short))
        await until(lambda: not 500 < shared_redis().pttl(name) <= short)

    async with workers(url, 1, lock_seconds=0.5, unstored=lambda: unstored) as (flights,):
        await flights.fly(KEY, quick.call)
        await until_some_flight_is("d")
        await until_prolonged(landed)
        unstored.clear()  # it is stored
        flying = asyncio.create_task(flights.fly("f" * 64, slow.call))
        await slow.is_called.wait()
        for _ in range(3):
            shared_redis().pexpire(landed, int(short))
            await until_prolonged(flown)
        assert shared_redis().pttl(landed) <= short
        slow.may_answer.set()
        await flying


async def test_when_the_one_that_flies_fails_another_flies(url):
    provider = Provider(failures=1)
    async with workers(url, 2) as flights:
        first = asyncio.create_task(flights[0].fly(KEY, provider.call))
        await provider.is_called.wait()
        others = [asyncio.create_task(flights[1].fly(KEY, provider.call)) for _ in range(20)]
        await until_some_flight_is("w")
        provider.may_answer.set()
        with pytest.raises(ServerError):
            await first
        landings = await asyncio.gather(*others)
    assert provider.calls == 2
    assert sum(landing.is_joined for landing in landings) == 19


async def test_a_call_that_always_fails_does_not_make_a_queue(url):
    """Each of them fails by a call of its own, but not one after the other."""
    calls = flying = 0
    many_fly = asyncio.Event()

    async def call():
        nonlocal calls, flying
        calls += 1
        if calls > 8:  # the first few may be one after the other: two others are waited for
            flying += 1
            if flying == 20:
                many_fly.set()
            await many_fly.wait()
        raise ServerError("The provider is ill.")

    async with workers(url, 2) as flights, asyncio.timeout(PATIENCE_SECONDS):
        tasks = [flights[n % 2].fly(KEY, call) for n in range(60)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, ServerError) for result in results)
    assert calls == 60


async def test_a_cancelled_flight_is_taken_over(url):
    provider = Provider()
    async with workers(url, 2) as flights:
        leader = asyncio.create_task(flights[0].fly(KEY, provider.call))
        await provider.is_called.wait()
        heir = asyncio.create_task(flights[1].fly(KEY, provider.call))
        await until_some_flight_is("w")
        leader.cancel()
        provider.may_answer.set()
        landing = await asyncio.wait_for(heir, PATIENCE_SECONDS)
    assert not landing.is_joined
    assert provider.calls == 2


async def test_a_flight_of_a_dead_process_is_taken_over_when_its_lock_ends(url):
    shared_redis().set(f"flight:{KEY}", "fdead", px=400)
    provider = Provider(is_quick=True)
    async with workers(url, 2) as flights:
        landings = await asyncio.gather(*[flights[n % 2].fly(KEY, provider.call) for n in range(9)])
    assert provider.calls == 1
    assert sum(landing.is_joined for landing in landings) == 8


async def test_a_long_flight_keeps_its_lock(url, monkeypatch):
    monkeypatch.setattr(redis_flights, "RENEWALS_PER_LOCK", 1000)  # soon; and the lock is long
    provider, lock = Provider(), 1000 * PATIENCE_SECONDS
    async with workers(url, 2) as flights:
        leader = asyncio.create_task(flights[0].fly(KEY, provider.call))
        await provider.is_called.wait()
        joiner = asyncio.create_task(flights[1].fly(KEY, provider.call))
        await until_some_flight_is("w")
        shared_redis().pexpire(f"flight:{KEY}", round(lock / 2))  # as if half of it had passed
        await until(lambda: shared_redis().pttl(f"flight:{KEY}") > lock / 2)
        provider.may_answer.set()
        assert (await joiner).is_joined
        assert not (await leader).is_joined
    assert provider.calls == 1


async def test_who_comes_before_the_answer_is_stored_waits_for_it(url):
    """The look-up missed, the call ended meanwhile, the answer is not in the database yet."""
    cache, provider = CountingCache(), Provider(is_quick=True)
    async with workers(url, 2, cache) as flights:
        landing = await flights[0].fly(KEY, provider.call)
        await until_some_flight_is("d")
        late = asyncio.create_task(flights[1].fly(KEY, provider.call))
        await until(lambda: cache.looks >= 3)  # in vain
        cache.put(KEY, REQUEST, landing.reply)
        assert (await asyncio.wait_for(late, PATIENCE_SECONDS)).is_joined
    assert provider.calls == 1


async def test_a_large_answer_goes_by_the_cache(url):
    cache, provider = MemoryCache(), Provider("x" * (LARGEST_HANDED + 1))

    async def call():
        reply = await provider.call()
        cache.put(KEY, REQUEST, reply)
        return reply

    async with workers(url, 2, cache) as flights:
        tasks = [asyncio.create_task(each.fly(KEY, call)) for each in flights]
        await until_some_flight_is("w")
        provider.may_answer.set()
        landings = await asyncio.gather(*tasks)
        assert shared_redis().strlen(f"flight:{KEY}") < 100
    assert provider.calls == 1
    assert len({landing.reply.text for landing in landings}) == 1


async def test_who_refreshes_joins_calls_of_the_same_run_only_and_never_gets_what_was_cached(url):
    cache, provider = MemoryCache(), Provider("new")
    cache.put(KEY, REQUEST, Reply("old", 1.0))
    scopes = ["run:1:", "run:1:", "run:2:", ""]
    async with workers(url, 4, cache) as flights, asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(each.fly(KEY, provider.call, scope))
            for each, scope in zip(flights, scopes, strict=True)
        ]
        await until_some_flight_is("w")
        provider.may_answer.set()
    assert provider.calls == 3
    assert sum(task.result().is_joined for task in tasks) == 1
    assert {task.result().reply.text for task in tasks} == {"new"}


async def test_without_redis_equal_calls_are_joined_within_the_process():
    """Each process asks once: who waits for its answer does not ask again."""
    provider, asked = Provider(is_quick=True), []

    def hang_up(reader, writer):
        asked.append(writer)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, workers(f"redis://127.0.0.1:{port}/0", 2) as flights:
        tasks = [flights[n % 2].fly(KEY, provider.call) for n in range(40)]
        landings = await asyncio.gather(*tasks)
        assert len(asked) == 2
    assert provider.calls == 2
    assert sum(landing.is_joined for landing in landings) == 38


async def test_closing_frees_what_was_held_and_calls_nobody_joins_leave_no_answers(url):
    provider, quick = Provider(), Provider("a secret answer", is_quick=True)
    async with workers(url, 1) as flights:
        task = asyncio.create_task(flights[0].fly(KEY, provider.call))
        await provider.is_called.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert shared_redis().keys("flight:*") == []
    async with workers(url, 1) as flights:
        await asyncio.gather(*[flights[0].fly(f"{n:064}", quick.call) for n in range(50)])
    names = shared_redis().keys("flight:*")
    assert {shared_redis().get(name) for name in names} == {b"d"}
    assert all(0 < shared_redis().pttl(name) <= 1000 * PATIENCE_SECONDS for name in names)


NO_ANSWERS = [
    *[b"", b"{", b"[]", b'["a"]', b"[1, 2, 3, 4, false]", b'["a", -1, 0, 0, false]', b"\xff\xfe"],
    *[b'["a", 1, "x", 0, false]', b'["a", NaN, 0, 0, false]', b'["a", 1, -5, 0, false]'],
    b'["a", 1, 0, 0]',
]


def test_an_answer_comes_back_as_it_was_and_what_is_none_is_not_taken_for_one():
    assert [text for text in NO_ANSWERS if read_reply(text) is not None] == []
    for reply in (Reply("5", 0.0), Reply("Ü\n\ud800\x00", 1.25, 0, 7, flaw="truncated")):
        found = read_reply(write_reply(reply).encode())
        assert found == replace(reply, cached=True)
