"""The provider's limits, as its clients meet them."""

import asyncio
import json
import time

from tests.simulator.calls import CHAT, ask, ask_all, chat, post, until
from workers.simulator.limits import SlidingWindow, show_duration
from workers.simulator.provider import SimulatedProvider
from workers.simulator.records import HttpRequest
from workers.simulator.settings import Settings


def questions(count):
    return [chat(f"What is {number} + 1?") for number in range(count)]


def statuses(answers):
    return [answered.status for answered in answers]


async def test_requests_above_the_limit_are_refused_in_openais_way(client, simulator):
    simulator.change(rpm=5)
    began = time.monotonic()
    answers = await ask_all(client, questions(8))
    took = time.monotonic() - began
    assert sorted(statuses(answers)) == [200] * 5 + [429] * 3
    refused = next(answered for answered in answers if answered.status == 429)
    assert refused.body["error"]["code"] == "rate_limit_exceeded"
    assert refused.headers["x-ratelimit-limit-requests"] == "5"
    assert refused.headers["x-ratelimit-remaining-requests"] == "0"
    assert 60 - took <= int(refused.headers["retry-after"]) <= 60
    assert refused.headers["x-ratelimit-reset-requests"].endswith("s")


async def test_answers_count_down_what_remains(client, simulator):
    simulator.change(rpm=3, tpm=1000)
    first = await ask(client, "What is 1 + 1?")
    second = await ask(client, "What is 2 + 2?")
    assert first.headers["x-ratelimit-remaining-requests"] == "2"
    assert second.headers["x-ratelimit-remaining-requests"] == "1"
    used = first.body["usage"]["total_tokens"] + second.body["usage"]["total_tokens"]
    assert second.headers["x-ratelimit-remaining-tokens"] == str(1000 - used)
    assert second.headers["x-ratelimit-limit-tokens"] == "1000"


async def test_tokens_above_the_limit_are_refused(client, simulator):
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


async def test_requests_beyond_those_worked_on_at_once_wait_for_their_turn(client, simulator):
    simulator.change(num_parallel=2, latency_ms=100, jitter=0)
    answers = await ask_all(client, questions(6))
    assert statuses(answers) == [200] * 6
    rows = simulator.requests()
    first, ends = min(row["arrival"] for row in rows), sorted(row["end"] for row in rows)
    assert ends[2] - first >= 0.19  # the server rounds to its own ticks
    assert ends[4] - first >= 0.29


async def test_a_place_is_free_again_when_its_client_has_gone(client, simulator):
    simulator.change(max_in_flight=1)
    hanging = asyncio.create_task(ask(client, "hi", model="sim-small:hang"))
    await until(lambda: simulator.ledger()["in_flight"] == 1)
    assert (await ask(client, "Is it free?")).status == 429
    hanging.cancel()
    await until(lambda: simulator.ledger()["in_flight"] == 0)
    assert (await ask(client, "Is it free?")).status == 200


def test_the_window_slides():
    now = 100.0
    provider = SimulatedProvider(Settings(rpm=20, window_seconds=3), clock=lambda: now)

    def ask_now():
        request = HttpRequest("POST", CHAT, "", json.dumps(chat("What is 1 + 1?")).encode())
        return provider.receive(request).reply

    assert ask_now().status == 200
    now += 1
    refused = ask_now()
    assert refused.status == 429
    wait = int(dict(refused.headers)["retry-after-ms"])
    now += (wait - 1) / 1000
    assert ask_now().status == 429
    now += 1 / 1000
    assert (wait, ask_now().status) == (2000, 200)


async def test_limits_can_count_each_model_for_itself(client, simulator):
    simulator.change(rpm=1, limit_scope="model")
    assert (await ask(client, "hi", model="sim-small")).status == 200
    assert (await ask(client, "hi", model="sim-large")).status == 200
    assert (await ask(client, "hi", model="sim-large")).status == 429


async def test_a_limit_that_is_not_set_or_is_kept_in_secret_says_nothing(client, simulator):
    answered = await ask(client, "hi")
    assert not [name for name in answered.headers if name.startswith("x-ratelimit")]
    simulator.reset()
    simulator.change(rpm=1, limit_headers="hidden")
    answered, refused = [await ask(client, f"What is {n} + 1?") for n in range(2)]
    assert statuses([answered, refused]) == [200, 429]
    assert not [name for name in refused.headers if name.startswith("x-ratelimit")]
    assert refused.headers["retry-after"]


def test_a_window_says_how_long_until_something_fits():
    window = SlidingWindow()
    for second, amount in ((0, 5), (10, 3), (20, 2)):
        window.add(second, amount)
    waits = [window.wait_seconds(30, 60, amount, capacity=10) for amount in (1, 5, 6, 8, 11)]
    assert waits == [30, 30, 40, 40, float("inf")]
    assert window.used(60, 60) == 5
    assert window.reset_seconds(60, 60) == 20


def test_durations_look_as_openai_writes_them():
    shown = {0: "0ms", 0.012: "12ms", 1: "1s", 1.5: "1.5s", 360: "6m0s", 61.25: "1m1.25s"}
    assert {seconds: show_duration(seconds) for seconds in shown} == shown
