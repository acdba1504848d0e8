"""The ledger tells what clients really did."""

import asyncio
import json

import pytest

from tests.simulator.calls import CHAT, ask, ask_all, chat, post, until
from workers.simulator.ledger import MOST_NAMES, Arrival, Ledger
from workers.simulator.provider import SimulatedProvider
from workers.simulator.records import HttpRequest
from workers.simulator.settings import Settings


def questions(count):
    return [chat(f"What is {number} + 1?") for number in range(count)]


async def test_the_peak_is_what_a_known_load_had_in_flight(client, simulator):
    simulator.change(gather=37)
    await ask_all(client, questions(37))
    simulator.change(gather=None)
    gate = asyncio.Semaphore(5)

    async def with_gate(body):
        async with gate:
            await post(client, CHAT, body)

    await ask(client, "Alone now")
    assert simulator.ledger()["peak_in_flight"] == 37
    simulator.reset()
    simulator.change(gather=5, latency_ms=5)
    await asyncio.gather(*map(with_gate, questions(20)))
    ledger = simulator.ledger()
    assert ledger["peak_in_flight"] == 5
    assert (ledger["total"], ledger["in_flight"]) == (20, 0)


async def test_requests_after_the_held_number_wait_until_they_are_let_go(client, simulator):
    simulator.change(hold_after=2)
    asked = [asyncio.ensure_future(post(client, CHAT, body)) for body in questions(5)]
    await until(lambda: simulator.ledger()["total"] == 5 and sum(one.done() for one in asked) == 2)
    assert simulator.ledger()["in_flight"] == 3
    simulator.change(hold_after=None)
    assert [answer.status for answer in await asyncio.gather(*asked)] == [200] * 5


async def test_requests_from_before_a_reset_do_not_wait_for_those_after_it(client, simulator):
    """They may hold the places that those would need."""
    simulator.change(gather=2)
    asked = asyncio.ensure_future(ask(client, "hi"))
    await until(lambda: simulator.ledger()["in_flight"] == 1)
    simulator.reset()
    assert (await asked).status == 200
    assert simulator.ledger()["peak_in_flight"] == 0


async def test_peaks_are_kept_for_each_model(client, simulator):
    simulator.change(gather=9)
    small = [chat("hi", model="sim-small") for _ in range(3)]
    large = [chat("hi", model="sim-large") for _ in range(6)]
    await ask_all(client, small + large)
    ledger = simulator.ledger()
    assert ledger["peak_in_flight_by_model"] == {"sim-small": 3, "sim-large": 6}
    assert ledger["peak_in_flight"] == 9


async def test_rows_tell_each_request_and_come_in_pages(client, simulator):
    await ask(client, "What is 1 + 1?")
    await ask(client, "hi", model="sim-small:503")
    await ask(client, "hi", model="gpt-9")
    rows = simulator.requests()
    assert [row["number"] for row in rows] == [0, 1, 2]
    assert [row["status"] for row in rows] == [200, 503, 404]
    assert [row["model"] for row in rows] == ["sim-small", "sim-small:503", "gpt-9"]
    assert [row["fault"] for row in rows] == [None, "status", None]
    assert {row["route"] for row in rows} == {CHAT}
    assert all(0 <= row["arrival"] <= row["end"] for row in rows)
    assert rows[0]["tokens_in"] > 0 < rows[0]["tokens_out"]
    assert simulator.requests(after=0, limit=1) == [rows[1]]


async def test_bodies_asked_more_than_once_are_counted(client, simulator):
    body = chat("What is 1 + 1?")
    reordered = dict(reversed(body.items()))
    for asked in (body, reordered, body, chat("What is 2 + 2?"), chat("x"), chat("x")):
        await post(client, CHAT, asked)
    expected = {"bodies": 2, "extra_calls": 3, "extra_answers": 3}
    assert simulator.ledger()["duplicates"] == expected


async def test_a_retry_after_an_error_is_an_extra_call_but_no_extra_answer(client, simulator):
    simulator.play({"do": "status", "status": 500})
    assert [(await ask(client, "hi")).status for _ in range(2)] == [500, 200]
    expected = {"bodies": 1, "extra_calls": 1, "extra_answers": 0}
    assert simulator.ledger()["duplicates"] == expected


async def test_a_client_that_leaves_is_noted(client, simulator):
    call = asyncio.create_task(ask(client, "hi", model="sim-small:hang"))
    await until(lambda: simulator.ledger()["in_flight"] == 1)
    call.cancel()
    await until(lambda: simulator.ledger()["in_flight"] == 0)
    row = simulator.requests()[0]
    assert (row["aborted"], row["status"]) == (True, None)
    assert simulator.ledger()["aborted"] == 1
    assert simulator.ledger()["by_status"] == {"no answer": 1}


async def test_control_requests_are_not_in_the_ledger(client, simulator):
    for _ in range(3):
        simulator.ledger()
    await ask(client, "hi")
    assert simulator.ledger()["total"] == 1


def test_the_end_of_a_request_from_before_a_reset_is_not_counted_after_it():
    provider = SimulatedProvider(Settings(max_in_flight=1), clock=lambda: 0.0)
    request = HttpRequest("POST", CHAT, "", json.dumps(chat("hi")).encode())
    before = provider.receive(request)
    provider.reset()
    after = provider.receive(request)
    before.close(200)
    ledger = provider.ledger.summary(now=0)
    assert (ledger["total"], ledger["in_flight"], ledger["by_status"]) == (1, 1, {})
    assert provider.receive(request).reply.status == 429
    after.close(200)
    assert provider.receive(request).reply.status == 200


def test_latency_has_the_promised_mean_and_is_the_same_for_the_same_request():
    settings = Settings(latency_ms=60, jitter=0.5, model_latency={"sim-small": 1})
    provider = SimulatedProvider(settings, clock=lambda: 0.0)

    def seconds_of_all():
        requests = [
            HttpRequest("POST", CHAT, "", json.dumps(one).encode()) for one in questions(100)
        ]
        return [provider.receive(request).due for request in requests]

    firsts = seconds_of_all()
    assert sum(firsts) / 100 == pytest.approx(0.06, rel=0.1)
    assert max(firsts) - min(firsts) > 0.04
    assert seconds_of_all() == firsts


async def test_an_answer_takes_at_least_its_latency(client, simulator):
    simulator.change(latency_ms=60, jitter=0, model_latency={"sim-small": 1})
    await ask_all(client, questions(10))
    assert all(row["end"] - row["arrival"] >= 0.05 for row in simulator.requests())


def arrive(ledger, second, model="sim-small", tokens=10, is_accepted=True):
    arrival = Arrival("/v1", model, int(second * 10), tokens, 0, is_accepted, "")
    return ledger.begin(arrival, second)


def test_the_busiest_minute_is_found_wherever_it_starts():
    ledger = Ledger(now=0)
    for second in (0, 30, 59, 59.5, 61, 89, 200):
        ledger.end(arrive(ledger, second), 200, is_aborted=False, now=second)
    arrive(ledger, 201, tokens=0, is_accepted=False)
    summary = ledger.summary(now=201)
    assert summary["max_requests_in_60s"] == 5  # 30 to 89
    assert summary["max_tokens_in_60s"] == 50
    assert summary["per_second"][:3] == [(0, 1), (30, 1), (59, 2)]


def test_a_refused_request_is_in_the_minute_but_not_among_the_accepted():
    ledger = Ledger(now=0)
    for second in (1, 2, 3):
        arrive(ledger, second, is_accepted=second != 2)
    summary = ledger.summary(now=3)
    assert (summary["max_requests_in_60s"], summary["max_accepted_in_60s"]) == (3, 2)


def test_a_flood_of_model_names_is_kept_small():
    ledger = Ledger(now=0)
    for number in range(MOST_NAMES * 2):
        arrive(ledger, number, model=f"model {number}")
    assert len(ledger.summary(now=0)["by_model"]) <= MOST_NAMES + 1
