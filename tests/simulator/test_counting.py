"""The ledger tells what clients really did, and the limits refuse what is too much."""

import asyncio
import json

import pytest

from tests.simulator.calls import CHAT, ask, ask_all, chat, post, until
from workers.simulator.ledger import MOST_NAMES, Arrival, Ledger
from workers.simulator.limits import SlidingWindow, show_duration
from workers.simulator.provider import SimulatedProvider
from workers.simulator.records import HttpRequest
from workers.simulator.settings import Settings


def questions(count):
    return [chat(f"What is {number} + 1?") for number in range(count)]


async def test_the_peak_is_what_a_known_load_had_in_flight(client, simulator):
    simulator.change(gather=37)
    await ask_all(client, questions(31) + [chat("hi", model="sim-large")] * 6)
    simulator.change(gather=None)
    gate = asyncio.Semaphore(5)

    async def with_gate(body):
        async with gate:
            await post(client, CHAT, body)

    await ask(client, "Alone now")
    ledger = simulator.ledger()
    assert ledger["peak_in_flight"] == 37
    assert ledger["peak_in_flight_by_model"] == {"sim-small": 31, "sim-large": 6}
    simulator.reset()
    simulator.change(gather=5, latency_ms=5)
    await asyncio.gather(*map(with_gate, questions(20)))
    ledger = simulator.ledger()
    assert ledger["peak_in_flight"] == 5
    assert (ledger["total"], ledger["in_flight"]) == (20, 0)


async def test_requests_wait_until_they_are_let_go_or_the_provider_is_reset(client, simulator):
    simulator.change(hold_after=2)
    asked = [asyncio.ensure_future(post(client, CHAT, body)) for body in questions(5)]
    await until(lambda: simulator.ledger()["total"] == 5 and sum(one.done() for one in asked) == 2)
    assert simulator.ledger()["in_flight"] == 3
    simulator.change(hold_after=None)
    assert statuses(await asyncio.gather(*asked)) == [200] * 5
    # They may hold the places that those after a reset would need.
    simulator.reset()
    simulator.change(gather=2)
    waiting = asyncio.ensure_future(ask(client, "hi"))
    await until(lambda: simulator.ledger()["in_flight"] == 1)
    simulator.reset()
    assert (await waiting).status == 200
    assert simulator.ledger()["peak_in_flight"] == 0


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
    assert simulator.ledger()["total"] == 6, "control requests are not in the ledger"
    simulator.reset()
    simulator.play({"do": "status", "status": 500})
    assert [(await ask(client, "hi")).status for _ in range(2)] == [500, 200]
    expected = {"bodies": 1, "extra_calls": 1, "extra_answers": 0}
    assert simulator.ledger()["duplicates"] == expected, "an error is no answer"


async def test_a_client_that_leaves_is_noted_and_its_place_is_free_again(client, simulator):
    simulator.change(max_in_flight=1)
    call = asyncio.create_task(ask(client, "hi", model="sim-small:hang"))
    await until(lambda: simulator.ledger()["in_flight"] == 1)
    assert (await ask(client, "Is it free?")).status == 429
    call.cancel()
    await until(lambda: simulator.ledger()["in_flight"] == 0)
    row = simulator.requests()[0]
    assert (row["aborted"], row["status"]) == (True, None)
    assert simulator.ledger()["aborted"] == 1
    assert simulator.ledger()["by_status"] == {"no answer": 1, "429": 1}
    assert (await ask(client, "Is it free?")).status == 200


def test_the_end_of_a_request_from_before_a_reset_is_not_counted_after_it():
    provider = SimulatedProvider(Settings(max_in_flight=1), clock=lambda: 0.0)
    request = request_of(chat("hi"))
    before = provider.receive(request)
    provider.reset()
    after = provider.receive(request)
    before.close(200)
    ledger = provider.ledger.summary(now=0)
    assert (ledger["total"], ledger["in_flight"], ledger["by_status"]) == (1, 1, {})
    assert provider.receive(request).reply.status == 429
    after.close(200)
    assert provider.receive(request).reply.status == 200


def request_of(body):
    return HttpRequest("POST", CHAT, "", json.dumps(body).encode())


def test_latency_has_the_promised_mean_and_is_the_same_for_the_same_request():
    settings = Settings(latency_ms=60, jitter=0.5, model_latency={"sim-small": 1})
    provider = SimulatedProvider(settings, clock=lambda: 0.0)

    def seconds_of_all():
        return [provider.receive(request_of(body)).due for body in questions(100)]

    firsts = seconds_of_all()
    assert sum(firsts) / 100 == pytest.approx(0.06, rel=0.1)
    assert max(firsts) - min(firsts) > 0.04
    assert seconds_of_all() == firsts


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
    ledger = Ledger(now=0)
    for second in (1, 2, 3):
        arrive(ledger, second, is_accepted=second != 2)
    summary = ledger.summary(now=3)
    assert (summary["max_requests_in_60s"], summary["max_accepted_in_60s"]) == (3, 2)
    # A flood of names of models is kept small.
    ledger = Ledger(now=0)
    for number in range(MOST_NAMES * 2):
        arrive(ledger, number, model=f"model {number}")
    assert len(ledger.summary(now=0)["by_model"]) <= MOST_NAMES + 1


def statuses(answers):
    return [answered.status for answered in answers]


async def test_answers_count_down_what_remains_and_what_is_above_it_is_refused(client, simulator):
    simulator.change(rpm=5, tpm=1000)
    answers = [await ask(client, f"What is {n} + 1?") for n in range(2)]
    left = [answered.headers["x-ratelimit-remaining-requests"] for answered in answers]
    assert left == ["4", "3"]
    used = sum(answered.body["usage"]["total_tokens"] for answered in answers)
    assert answers[1].headers["x-ratelimit-remaining-tokens"] == str(1000 - used)
    assert answers[1].headers["x-ratelimit-limit-tokens"] == "1000"
    answers = await ask_all(client, questions(6))
    assert sorted(statuses(answers)) == [200] * 3 + [429] * 3
    refused = next(answered for answered in answers if answered.status == 429)
    assert refused.body["error"]["code"] == "rate_limit_exceeded"
    assert refused.headers["x-ratelimit-limit-requests"] == "5"
    assert refused.headers["x-ratelimit-remaining-requests"] == "0"
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert refused.headers["x-ratelimit-reset-requests"].endswith("s")
    # Tokens above the limit, too.
    simulator.change(rpm=None, tpm=None)
    cost = (await ask(client, "What is 1 + 1?")).body["usage"]["total_tokens"]
    simulator.reset()
    simulator.change(tpm=cost * 2)
    answers = [await ask(client, "What is 1 + 1?") for _ in range(3)]
    assert statuses(answers) == [200, 200, 429]
    assert answers[2].body["error"]["type"] == "tokens"
    assert simulator.ledger()["max_tokens_in_60s"] == cost * 2


async def test_more_requests_at_once_than_allowed_are_refused(client, simulator):
    simulator.change(max_in_flight=4, hold_after=0)
    asked = [asyncio.ensure_future(post(client, CHAT, body)) for body in questions(10)]
    await until(lambda: simulator.ledger()["total"] == 10)
    simulator.change(hold_after=None)
    answers = await asyncio.gather(*asked)
    assert sorted(statuses(answers)) == [200] * 4 + [429] * 6
    assert statuses(await ask_all(client, questions(4))) == [200] * 4


async def test_an_answer_takes_its_latency_and_requests_wait_for_their_turn(client, simulator):
    simulator.change(num_parallel=2, latency_ms=100, jitter=0)
    assert statuses(await ask_all(client, questions(6))) == [200] * 6
    rows = simulator.requests()
    first, ends = min(row["arrival"] for row in rows), sorted(row["end"] for row in rows)
    assert ends[0] - first >= 0.09  # the server rounds to its own ticks
    assert ends[2] - first >= 0.19
    assert ends[4] - first >= 0.29


def test_the_window_slides():
    now = 100.0
    provider = SimulatedProvider(Settings(rpm=20, window_seconds=3), clock=lambda: now)

    def ask_now():
        return provider.receive(request_of(chat("What is 1 + 1?"))).reply

    assert ask_now().status == 200
    now += 1
    refused = ask_now()
    assert refused.status == 429
    wait = int(dict(refused.headers)["retry-after-ms"])
    now += (wait - 1) / 1000
    assert ask_now().status == 429
    now += 1 / 1000
    assert (wait, ask_now().status) == (2000, 200)
    provider = SimulatedProvider(Settings(rpm=1), clock=lambda: now)
    assert ask_now().status == 200
    assert dict(ask_now().headers)["retry-after"] == "60"


async def test_a_limit_may_be_kept_in_secret_and_may_count_each_model_for_itself(client, simulator):
    answered = await ask(client, "hi")
    assert not [name for name in answered.headers if name.startswith("x-ratelimit")]
    simulator.reset()
    simulator.change(rpm=1, limit_headers="hidden")
    answered, refused = [await ask(client, f"What is {n} + 1?") for n in range(2)]
    assert statuses([answered, refused]) == [200, 429]
    assert not [name for name in refused.headers if name.startswith("x-ratelimit")]
    assert refused.headers["retry-after"]
    # Each model may be counted for itself.
    simulator.reset()
    simulator.change(rpm=1, limit_scope="model")
    models = ("sim-small", "sim-large", "sim-large")
    assert statuses([await ask(client, "hi", model=one) for one in models]) == [200, 200, 429]


def test_a_window_says_how_long_until_something_fits_as_openai_writes_it():
    window = SlidingWindow()
    for second, amount in ((0, 5), (10, 3), (20, 2)):
        window.add(second, amount)
    waits = [window.wait_seconds(30, 60, amount, capacity=10) for amount in (1, 5, 6, 8, 11)]
    assert waits == [30, 30, 40, 40, float("inf")]
    assert window.used(60, 60) == 5
    assert window.reset_seconds(60, 60) == 20
    shown = {0: "0ms", 0.012: "12ms", 1: "1s", 1.5: "1.5s", 360: "6m0s", 61.25: "1m1.25s"}
    assert {seconds: show_duration(seconds) for seconds in shown} == shown
