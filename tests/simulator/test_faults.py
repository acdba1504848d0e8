"""Every fault of the registry, seen from the client, and the three ways to ask for one."""

import asyncio
import json
import math
import resource
import sys
import time
import zlib
from collections.abc import Callable

import aiohttp
import pytest

from tests.simulator.calls import CHAT, ask, ask_all, chat, post, until
from workers.simulator.faults import FAULTS
from workers.simulator.settings import RATED_FAULTS

DRIP_SECONDS = 0.02


def asking_for(fault):
    return chat("What is 17 + 25?", model=f"sim-small:{fault}")


async def document_of(client, fault):
    async with client.post(CHAT, json=asking_for(fault)) as got:
        return json.loads(await got.read())


SEEN: dict[str, Callable[[aiohttp.ClientResponse, str], bool]] = {
    **dict.fromkeys(("pass", "answer"), lambda got, text: got.status == 200),
    **dict.fromkeys(
        ("status", "error"), lambda got, text: got.status == 500 and "server_error" in text
    ),
    "key": lambda got, text: got.status == 401 and "sk-secret" in text,
    "html": lambda got, text: (got.status, got.content_type) == (502, "text/html"),
    "wrong_schema": lambda got, text: "choices" not in json.loads(text),
    "nul": lambda got, text: "\x00" in json.loads(text)["choices"][0]["message"]["content"],
}


async def expect_seen(client, simulator, fault):
    headers = {"Authorization": "Bearer sk-secret"}
    async with client.post(CHAT, json=asking_for(fault), headers=headers) as got:
        assert SEEN[fault](got, await got.text())


async def expect_silence(client, simulator, fault):
    call = asyncio.create_task(ask(client, "hi", model=f"sim-small:{fault}"))
    await until(lambda: simulator.ledger()["in_flight"] == 1)
    assert (await ask(client, "Is anybody there?")).status == 200
    assert not call.done()
    call.cancel()
    await asyncio.wait([call])


async def expect_drip(client, simulator, fault):
    """Byte by byte: a machine that is busy reads several at once, but none before its time."""
    simulator.change(drip_seconds=DRIP_SECONDS)
    began = time.monotonic()
    async with client.post(CHAT, json=asking_for(fault)) as got:
        read = 0
        while read < 5:
            read += len(await got.content.readany())
            assert (read - 1) * DRIP_SECONDS <= time.monotonic() - began


RAISED = {
    "malformed": (json.JSONDecodeError, None),
    "empty": (json.JSONDecodeError, None),
    "deep": (RecursionError, None),
    "reset": (aiohttp.ClientError, "reset by peer"),
    "cut": (aiohttp.ClientPayloadError, None),
    "disconnect": (aiohttp.ServerDisconnectedError, None),  # without a byte
}


async def expect_raised(client, simulator, fault):
    kind, said = RAISED[fault]
    with pytest.raises(kind, match=said):
        await document_of(client, fault)


async def expect_huge(client, simulator, fault):
    simulator.change(huge_bytes=5_000_000)
    document = await document_of(client, fault)
    assert len(document["choices"][0]["message"]["content"]) == 5_000_000


async def expect_no_end(client, simulator, fault):
    async with client.post(CHAT, json=asking_for(fault)) as got:
        for _ in range(50):
            await got.content.readexactly(64 * 1024)
        got.close()


async def expect_bomb(client, simulator, fault):
    simulator.change(huge_bytes=5_000_000)
    as_sent = aiohttp.ClientSession(simulator.url, auto_decompress=False)
    async with as_sent, as_sent.post(CHAT, json=asking_for(fault)) as got:
        assert got.headers["content-encoding"] == "gzip"
        packed = await got.read()
    assert len(packed) < 50_000
    unpacked = json.loads(zlib.decompress(packed, wbits=31))
    assert len(unpacked["choices"][0]["message"]["content"]) == 5_000_000


async def expect_surrogate(client, simulator, fault):
    text = (await post(client, CHAT, asking_for(fault))).text
    with pytest.raises(UnicodeEncodeError):
        text.encode()


async def expect_nan(client, simulator, fault):
    assert (await ask(client, "hi", model=f"sim-small:{fault}")).text == "NaN"
    asked = {"model": f"sim-embed:{fault}", "input": "hi", "dimensions": 4}
    vector = (await post(client, "/v1/embeddings", asked)).body["data"][0]["embedding"]
    assert all(map(math.isnan, vector))


async def expect_ending(client, simulator, fault):
    choice = (await document_of(client, fault))["choices"][0]
    message, reason = choice["message"], choice["finish_reason"]
    assert reason == {"refusal": "stop", "no_text": "stop"}.get(fault, fault)
    assert bool(message["content"]) == (fault == "length")
    assert bool(message["refusal"]) == (fault == "refusal")
    assert bool(message.get("tool_calls")) == (fault == "tool_calls")


ENDINGS = ("length", "content_filter", "refusal", "tool_calls", "no_text")
EXPECTED = {
    **dict.fromkeys(SEEN, expect_seen),
    **dict.fromkeys(ENDINGS, expect_ending),
    **dict.fromkeys(RAISED, expect_raised),
    "hang": expect_silence,
    "drip": expect_drip,
    "huge": expect_huge,
    "endless": expect_no_end,
    "gzip_bomb": expect_bomb,
    "surrogate": expect_surrogate,
    "nan": expect_nan,
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_asked_for_by_suffix_is_seen_and_the_server_goes_on(client, simulator, fault):
    await EXPECTED[fault](client, simulator, fault)
    assert (await ask(client, "Are you well?")).status == 200
    assert simulator.ledger()["by_fault"][fault] >= 1


async def test_a_status_can_be_asked_for_by_suffix_and_every_fault_by_its_rate(client, simulator):
    for status in (400, 401, 403, 404, 408, 429, 500, 503, 529):
        answered = await ask(client, "hi", model=f"sim-small:{status}")
        assert answered.status == status
        assert ("retry-after" in answered.headers) == (status == 429)
    simulator.change(drip_seconds=0.001, huge_bytes=1000)

    async def is_brought(fault):
        await until(lambda: simulator.ledger()["by_fault"] == {fault: 1})

    for fault in RATED_FAULTS:
        simulator.reset()
        simulator.change(**{f"{fault}_rate": 1.0})
        call = asyncio.create_task(ask(client, "hi"))
        await is_brought(fault)
        call.cancel()  # some would hang
        await asyncio.wait([call])
        simulator.change(**{f"{fault}_rate": 0.0})


async def test_rates_hit_the_same_requests_at_any_speed_and_retries_get_a_chance(client, simulator):
    bodies = [chat(f"What is {number} + 1?") for number in range(120)]
    simulator.change(error_rate=0.2)
    together = [answered.status for answered in await ask_all(client, bodies)]
    again = [answered.status for answered in await ask_all(client, bodies)]
    simulator.reset()
    one_by_one = [(await post(client, CHAT, body)).status for body in bodies]
    assert together == one_by_one
    assert 12 <= sum(status != 200 for status in together) <= 36
    assert set(together) == {200, 500, 502, 503}
    failed_twice = sum(a != 200 != b for a, b in zip(together, again, strict=True))
    assert failed_twice < 12


async def test_a_script_plays_its_entries_as_often_as_they_say_and_as_late(client, simulator):
    simulator.play(
        {"match": {"contains": "17"}, "do": "pass"},
        {"match": {"contains": "17"}, "times": 2, "do": "status", "status": 503, "retry_after": 2},
        {"match": {"model": "sim-large"}, "times": None, "do": "answer", "answer": "9/10"},
    )
    statuses = [(await ask(client, "What is 17 + 25?")).status for _ in range(4)]
    assert statuses == [200, 503, 503, 200]
    assert (await ask(client, "What is 2 + 3?")).text.startswith("The answer is")
    said = [(await ask(client, "hi", model="sim-large")).text for _ in range(3)]
    assert said == ["9/10"] * 3
    # A refusal says when to come back, and a delay takes so long.
    refusal = {"do": "status", "status": 429, "retry_after": 1.5, "message": "Slow down"}
    simulator.play(refusal, {"do": "pass", "delay_ms": 150})
    answered = await ask(client, "hi")
    assert (answered.status, answered.body["error"]["message"]) == (429, "Slow down")
    told = (answered.headers["retry-after"], answered.headers["retry-after-ms"])
    assert told == ("2", "1500")
    await ask(client, "hi")
    row = simulator.requests()[-1]
    assert row["end"] - row["arrival"] >= 0.14  # the server rounds to its own ticks


def peak_memory_bytes():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


async def test_a_huge_body_is_never_held_in_memory(client, simulator):
    simulator.change(huge_bytes=3_000_000_000)
    before = peak_memory_bytes()
    async with client.post(CHAT, json=chat("hi", model="sim-small:huge")) as response:
        read = 0
        while read < 100_000_000:
            read += len(await response.content.read(1 << 20))
        response.close()
    assert peak_memory_bytes() - before < 50_000_000
