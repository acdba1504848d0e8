"""A key that is replaced while calls wait: the next call carries it, and its answer is its own."""

import asyncio
from random import Random
from zlib import crc32

from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.calling.asking import Asking, AskParts
from workers.engine.calling.cache import MemoryCache, SingleFlight, cache_key
from workers.engine.calling.calls import Caller, CallParts, CallRules
from workers.engine.clock import SystemClock
from workers.engine.http import Client
from workers.engine.providers import PROVIDERS, Provider
from workers.engine.records import Request
from workers.engine.throttling.permits import LocalPermits, Quota
from workers.engine.throttling.throttle import Throttle
from workers.simulator.testing import SimulatorClient

ONE_AT_ONCE = Quota("run", 1)


def question(number: int) -> Request:
    messages = [{"role": "user", "content": f"What is {number} + 1?"}]
    body = {"model": "sim-small", "messages": messages}
    return Request("provider", "sim-small", "/chat/completions", body)


async def test_an_answer_belongs_to_the_key_that_it_was_asked_with(
    simulator: SimulatorClient,
) -> None:
    async with Client() as client:

        def provider(key: str) -> Provider:
            return PROVIDERS["openai"](client, f"service of {key}", f"{simulator.url}/v1", key)

        clock = SystemClock()
        parts = CallParts(Throttle(LocalPermits(clock.monotonic), clock), clock, Random(1))
        providers, cache = {"provider": provider("old")}, MemoryCache()
        rules = CallRules(lambda request: (ONE_AT_ONCE,), 1, PATIENCE_SECONDS)
        caller = Caller(providers, parts, rules)
        services = {"provider": "service of old"}
        asking = AskParts(caller, providers, cache, SingleFlight(), services=services)
        requests = [question(0), question(1)]
        async with parts.throttle.slot((ONE_AT_ONCE,)):  # both wait for it
            waiting = [asyncio.create_task(Asking(asking).ask(one)) for one in requests]
            await asyncio.sleep(0)
            providers["provider"] = provider("new")
        await asyncio.gather(*waiting)
        await parts.close()
    sent = {row["key"] for row in simulator.requests()}
    assert sent == {f"{crc32(b'Bearer new'):08x}"}
    for service, count in (("service of old", 0), ("service of new", 2)):
        keys = [cache_key(service, one) for one in requests]
        assert len(await cache.get_many(keys)) == count
