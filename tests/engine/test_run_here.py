"""The engine end to end in one process, over real HTTP."""

import asyncio

import pytest

from tests.engine.running import run_document, table_of
from tests.harness.table import row, table
from tests.simulator.calls import until
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.prices import Price
from workers.engine.clock import SystemClock
from workers.engine.errors import Refused
from workers.engine.here import FAILURES, Stop
from workers.engine.records import Case
from workers.engine.throttling.permits import Quota


@table(1, 3, 8, 40)
async def test_in_flight_reaches_the_limit_and_never_exceeds_it(simulator, document, cases, limit):
    simulator.reset()
    simulator.change(latency_ms=10, gather=limit)
    document["limits"] = {**document["limits"], "max_concurrent": limit}
    await run_document(document, cases[:10] if limit == 1 else cases, simulator.url)
    assert simulator.ledger()["peak_in_flight"] == limit


async def test_every_trial_has_one_score_and_a_second_run_comes_cached(simulator, document, cases):
    cache = MemoryCache()
    first = await run_document(document, cases, simulator.url, cache)
    assert [score.trial.position for score in first] == list(range(2 * 2 * 20))
    assert len({score.trial[1:] for score in first}) == len(first)
    assert all(score.value in (0.0, 1.0) for score in first)
    assert simulator.ledger()["total"] == len(first)
    second = await run_document(document, cases, simulator.url, cache)
    assert simulator.ledger()["total"] == len(first)
    assert all(score.cached for score in second)
    assert table_of(first) == table_of(second)
    assert [score.latency_ms for score in first] == [score.latency_ms for score in second]


async def test_repeats_are_separate_calls_and_equal_ones_fly_once_with_a_cache(simulator, plain):
    simulator.change(latency_ms=50)
    twins = [Case(place, {"question": "What is 2 + 3?", "expected": "5"}) for place in range(6)]
    scores = await run_document({**plain, "repeats": 2}, twins, simulator.url)
    assert len(scores) == 12
    assert simulator.ledger()["total"] == 2
    assert sum(score.cached for score in scores) == 10
    await run_document({**plain, "cache": "off"}, twins, simulator.url)
    assert simulator.ledger()["total"] == 2 + 6


async def test_the_rate_of_a_run_and_limits_of_its_endpoint_are_kept(simulator, document, cases):
    document["limits"] = {**document["limits"], "requests_per_minute": 2400}
    begun = simulator.ledger()["uptime_seconds"]  # the first to arrive may have been on its way
    await run_document(document, cases, simulator.url)
    ledger = simulator.ledger()
    # 80 calls at 2400 a minute, 24 of them at once: the other 56 start 25.25 ms apart.
    assert simulator.requests(limit=100)[-1]["arrival"] - begun >= 56 * 0.02525 * 0.98
    assert ledger["total"] == 80
    # What an endpoint allows is kept to as well.
    simulator.reset()
    simulator.change(latency_ms=20)
    del document["limits"]["requests_per_minute"]
    quotas = {("simulated", m): Quota(m, 2) for m in ("sim-small", "sim-large")}
    await run_document(document, cases, simulator.url, model_quotas=quotas)
    assert simulator.ledger()["peak_in_flight"] <= 4


@table(
    row("500", "server_error", id="5xx"),
    row("400", "refused", id="4xx"),
    row("hang", "timeout", id="never answers"),
    row("drip", "timeout", id="a byte every half second"),
    row("malformed", "malformed_answer", id="not JSON"),
    row("reset", "connection", id="connection reset"),
)
async def test_a_failed_call_is_a_score_with_an_error(simulator, document, cases, fault, error):
    """One of each sort; test_providers.py has all of them."""
    document |= {"models": [f"simulated/sim-small:{fault}", "simulated/sim-large"]}
    document["limits"] = {"max_concurrent": 8, "timeout_seconds": 120, "attempts": 2}
    if error == "timeout":  # the others are too late then, where the machine stands still
        document["models"] = document["models"][:1]
        document["limits"]["timeout_seconds"] = 0.8
    cache = MemoryCache()
    scores = await run_document(document, cases[:2], simulator.url, cache)
    broken = [score for score in scores if score.error]
    assert len(cache.replies) == len(scores) - len(broken)
    assert {score.error for score in broken} == {error}
    assert len(broken) == 4
    assert all(score.value is None and score.message for score in broken)
    assert len(scores) == 4 * len(document["models"])


async def test_transient_errors_are_retried_and_a_429_only_waited_for(simulator, document, cases):
    simulator.play({"match": {}, "times": 3, "do": "status", "status": 503})
    scores = await run_document(document, cases[:3], simulator.url)
    assert not any(score.error for score in scores)
    assert sum(len(score.attempts) - 1 for score in scores) == 3
    # Waiting for a 429 is not an attempt.
    simulator.play({"match": {}, "times": 4, "do": "status", "status": 429, "retry_after": 0.1})
    document["limits"] = {**document["limits"], "attempts": 1}
    scores = await run_document(document, cases[:3], simulator.url)
    assert not any(score.error for score in scores)
    throttled = [a for score in scores for a in score.attempts if a.outcome == "rate_limited"]
    assert len(throttled) == 4


async def test_every_schedule_gives_the_same_table(simulator, document, cases):
    """That a sequential run makes one call at a time is proven in test_chunks.py."""
    simulator.change(latency_ms=5, jitter=0.9)
    usual = await run_document(document, cases, simulator.url)
    for schedule in ("sequential", "two_level"):
        document["limits"] |= {"schedule": schedule}
        assert table_of(await run_document(document, cases, simulator.url)) == table_of(usual)
    # Two levels leave the documented slots empty.
    simulator.reset()
    simulator.change(latency_ms=10, gather=14)
    document["limits"] |= {"max_concurrent": 20, "batch_size": 7}
    await run_document(document, cases, simulator.url)
    assert simulator.ledger()["peak_in_flight"] == 14  # 2 candidates x 7 cases


class LeapingClock(SystemClock):
    """An hour later, as soon as a test says so."""

    leap = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.leap


async def run_with_stop(document, cases, url, *, leaps=False):
    """`leaps`: with the first score, an hour is over."""
    stops: list[Stop] = []
    clock = LeapingClock()
    prices = {("simulated", model): Price(1.0, 1.0) for model in ("sim-small", "sim-large")}

    def note(score):
        clock.leap = 3600.0 if leaps else 0.0

    watching = {"on_stop": stops.append, "on_score": note, "clock": clock}
    return await run_document(document, cases, url, prices=prices, **watching), stops


@table(({"calls": 30}, "calls"), ({"dollars": 0.0003}, "dollars"), ({"seconds": 600}, "seconds"))
async def test_a_budget_stops_calls_and_keeps_what_flies(simulator, document, cases, budget, stop):
    simulator.reset()
    simulator.change(latency_ms=40)
    document["budget"] = budget
    document["limits"] = {**document["limits"], "max_concurrent": 4}
    leaps = stop == "seconds"
    scores, stops = await run_with_stop(document, cases, simulator.url, leaps=leaps)
    assert stops == [Stop("budget", f"The budget of {stop} is used up.")]
    assert 0 < len(scores) < 2 * 2 * 20
    assert simulator.ledger()["total"] == len(scores)
    assert len(scores) <= budget.get("calls", 80)


async def test_failures_stop_a_run_if_they_are_too_many_or_all_alike(simulator, document, cases):
    large = {"calls": 160, "dollars": 1, "seconds": 600}  # neither does such a budget
    document["models"] = ["simulated/sim-small:400", "simulated/sim-large"]
    scores, stops = await run_with_stop({**document, "budget": large}, cases, simulator.url)
    assert (len(scores), stops) == (80, [])
    document |= {"models": ["simulated/sim-small:400"], "fail_on_error": 3}
    document["limits"] = {**document["limits"], "max_concurrent": 2, "batch_size": 2}
    scores, stops = await run_with_stop(document, cases, simulator.url)
    assert stops == [FAILURES]
    assert 3 < len(scores) < 40
    # The same permanent error again and again does, too.
    del document["fail_on_error"], document["limits"]["batch_size"]
    document["repeats"] = 10
    scores, (stop,) = await run_with_stop(document, cases, simulator.url)
    assert stop.by == "errors"
    assert stop.reason.startswith("20 trials in a row failed with “refused”: ")
    assert stop.reason.endswith(Refused.advice)
    assert 20 <= len(scores) <= 20 + 2 * 2  # a streak, and what the slots held


async def test_a_cancelled_run_leaves_no_task_behind(simulator, document, cases):
    simulator.change(latency_ms=60_000)
    before = asyncio.all_tasks()
    run = asyncio.create_task(run_document(document, cases, simulator.url))
    await until(lambda: simulator.ledger()["in_flight"] > 0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.all_tasks() == before
