"""Embeddings over real HTTP: a key for each text, several texts in a request, limits that hold."""

import asyncio
from random import Random

import pytest

from tests.engine.running import run_document
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import table
from workers.engine.calling.asking import Asking, AskParts
from workers.engine.calling.cache import MemoryCache, SingleFlight
from workers.engine.calling.calls import Caller, CallParts, CallRules
from workers.engine.calling.embeddings import (
    cosine,
    embed,
    embedding_request,
    read_vector,
    write_vector,
)
from workers.engine.calling.prices import Price
from workers.engine.calling.text_batches import TextBatches, share_tokens
from workers.engine.clock import SystemClock
from workers.engine.errors import LaneClosed, MalformedAnswer
from workers.engine.providers import PROVIDERS
from workers.engine.records import Case
from workers.engine.spec.model_choice import ModelChoice
from workers.engine.throttling.permits import LocalPermits, Quota
from workers.engine.throttling.throttle import Throttle
from workers.simulator.answers.embeddings import embed as simulated

MODEL = ModelChoice(endpoint="simulated", model="sim-embed")
PRICES = {("simulated", "sim-embed"): Price(0.02, 0.0)}
ROUTES = {"simulated": "/v1/embeddings", "ollama": "/api/embed"}


class TurnsClock(SystemClock):
    """Sleeps for turns of the loop, however long they take: whoever could come has come then."""

    async def sleep(self, seconds):
        for _ in range(200):
            await asyncio.sleep(0)


class Desk:
    """Where tests ask: everything between `ask` and the wire is real."""

    def __init__(self, url, client, kind="simulated"):
        clock = SystemClock()
        throttle = Throttle(LocalPermits(clock.monotonic), clock)
        self.quota, self.cache = Quota("run", 50), MemoryCache()
        self.askings: list[Asking] = []
        self.parts = CallParts(throttle, TurnsClock(), Random(1), batches=TextBatches(8))
        suffix = "/v1" if kind == "simulated" else ""
        providers = {"simulated": PROVIDERS[kind](client, kind, url + suffix)}
        rules = CallRules(lambda request: (self.quota,), 3, PATIENCE_SECONDS, PRICES)
        caller = Caller(providers, self.parts, rules)
        self.asking = AskParts(caller, providers, self.cache, SingleFlight(), prices=PRICES)

    def ask(self) -> Asking:
        """Of one trial."""
        self.askings.append(Asking(self.asking))
        return self.askings[-1]

    @property
    def calls(self) -> int:
        return sum(step.what == "call" for one in self.askings for step in one.trace)


@pytest.fixture
async def desk(client, simulator):
    desk = Desk(simulator.url, client)
    yield desk
    await desk.parts.close()


def words(number):
    return [f"text number {place}" for place in range(number)]


async def embed_apart(desk, texts):
    """Each text by a trial of its own."""
    found = await asyncio.gather(*(embed(desk.ask().ask, MODEL, [text]) for text in texts))
    return [one for (one,) in found]


@table(*ROUTES)
async def test_vectors_come_in_the_order_of_the_texts(client, simulator, kind):
    simulator.reset()
    desk, texts = Desk(simulator.url, client, kind), words(20)
    found = await embed(desk.ask().ask, MODEL, texts)
    for text, one in zip(texts, found, strict=True):
        assert one.vector is not None
        assert cosine(one.vector, simulated(text)) == pytest.approx(1.0)
    assert len({tuple(one.vector or ()) for one in found}) == 20
    rows = simulator.requests()
    assert {row["route"] for row in rows} == {ROUTES[kind]}
    assert len(rows) == 3  # of 8, 8 and 4 texts
    assert desk.calls == 3
    tokens = sum(row["tokens_in"] for row in rows)
    assert desk.askings[0].bill.cost == pytest.approx(tokens * 0.02 / 1_000_000)
    await desk.parts.close()


async def test_texts_of_several_trials_travel_together(desk, simulator):
    await embed_apart(desk, words(16))
    rows = simulator.requests()
    assert len(rows) == desk.calls == 2
    bills = [asking.bill for asking in desk.askings]
    tokens = sum(row["tokens_in"] for row in rows)
    assert sum(bill.cost or 0.0 for bill in bills) == pytest.approx(tokens * 0.02 / 1_000_000)
    assert all(bill.cost for bill in bills)  # each pays for its own text
    assert [one.bill.count_unpriced(one.trace) for one in desk.askings] == [0] * 16


async def test_each_text_is_cached_by_itself_and_equal_ones_together_are_sent_once(desk, simulator):
    before = await embed(desk.ask().ask, MODEL, words(4))
    after = await embed(desk.ask().ask, MODEL, [*words(6), "text number 0"])
    assert [one.vector for one in after[:4]] == [one.vector for one in before]
    assert after[6].vector == before[0].vector
    assert [step.what for step in desk.askings[1].trace].count("cache hit") == 5
    assert [row["tokens_in"] for row in simulator.requests()] == [16, 8]  # 4 texts, then 2
    other = MODEL.model_copy(update={"parameters": {"dimensions": 64}})
    (small,) = await embed(desk.ask().ask, other, ["text number 0"])
    assert len(small.vector or ()) == 64  # asked otherwise, it is another text
    calls, seen = desk.calls, len(simulator.requests())
    found = await embed_apart(desk, ["the same"] * 5)
    assert len({tuple(one.vector) for one in found}) == 1
    assert [row["tokens_in"] for row in simulator.requests()[seen:]] == [2]
    assert desk.calls == calls + 1


async def test_one_text_that_is_refused_fails_alone(desk, simulator):
    refused = {"times": None, "do": "error", "status": 400, "message": "too long"}
    simulator.play({"match": {"contains": "number 5"}, **refused})
    found = await embed_apart(desk, words(8))
    assert [one.vector is None for one in found] == [place == 5 for place in range(8)]
    assert str(found[5].error) == "400: too long"
    # 8, halved to 4 and 4; of the second half 2 and 2; of its first 1 and 1.
    assert len(simulator.requests()) == desk.calls == len(desk.cache.replies) == 7
    # A server in trouble is tried again with the whole request.
    simulator.reset()
    calls = desk.calls
    simulator.play({"times": 2, "do": "error", "status": 503})
    found = await embed_apart(desk, [f"{text} again" for text in words(8)])
    assert all(one.vector for one in found)
    assert len(simulator.requests()) == desk.calls - calls == 3


async def test_a_request_of_many_texts_counts_once_for_the_rate_and_at_once(desk, simulator):
    desk.quota = Quota("run", 50, requests_per_minute=60)
    begun = simulator.ledger()["uptime_seconds"]  # the first to arrive may have been on its way
    await embed_apart(desk, words(24))
    times = [row["arrival"] for row in simulator.requests()]
    assert len(times) == 3
    assert times[2] - begun > 1.5  # one a second
    # Calls at once are requests, too.
    simulator.reset()
    desk.quota = Quota("run", max_concurrent=2)
    simulator.change(latency_ms=5, gather=2)
    await embed_apart(desk, [f"another {place}" for place in range(64)])
    seen = simulator.ledger()
    assert (seen["total"], seen["peak_in_flight"]) == (8, 2)


async def test_closing_leaves_nobody_waiting(desk, simulator):
    request = embedding_request(MODEL, "a text")
    waiting = asyncio.create_task(desk.asking.caller.call(request, []))
    await asyncio.sleep(0)  # now it waits for other texts
    await desk.parts.close()
    with pytest.raises(LaneClosed):
        await waiting
    assert not simulator.requests()


@table(
    (None, ["a", "b"], [None, None]),
    (10, ["aaaa", "a"], [8, 2]),
    (7, ["a", "a", "a"], [2, 3, 2]),
    (1, ["a", "a", "a"], [0, 1, 0]),
    (5, ["", ""], [0, 5]),
)
def test_tokens_are_shared_out_whole(total, texts, shares):
    assert share_tokens(total, texts) == shares


def test_a_vector_is_kept_as_text():
    kept = write_vector([0.5, -1.25, 3e38])
    assert list(read_vector(kept)) == [0.5, -1.25, pytest.approx(3e38)]
    with pytest.raises(MalformedAnswer):
        read_vector("no vector")


async def test_similarity_compares_meanings(simulator, plain):
    answers = {"same": "the cat sat", "near": "the cat sat down", "far": "17"}
    matches = [{"contains": name, "model": "sim-small"} for name in answers]
    said = [{"do": "answer", "answer": text} for text in answers.values()]
    simulator.play(*({"match": one, **other} for one, other in zip(matches, said, strict=True)))
    plain["scorers"] = [{"similarity": {"model": "simulated/sim-embed", "threshold": 0.75}}]
    rows = [{"question": f"{name}?", "expected": "the cat sat"} for name in answers]
    cases = [Case(place, row) for place, row in enumerate(rows)]
    scores = await run_document(plain, cases, simulator.url, prices=PRICES)
    same, near, far = (score.value for score in scores)
    assert same == pytest.approx(1.0)
    assert 0.75 < (near or 0) < 1
    assert (far or 0) < 0.3
    assert [score.passed for score in scores] == [True, True, False]
    first = scores[0].judging
    assert [call.step for call in first.calls] == ["similarity"] * 2
    assert first.calls[0].prompt == [{"role": "text", "content": "the cat sat"}]
    assert first.calls[0].answer.startswith("A vector of 768 numbers: ")
