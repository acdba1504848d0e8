"""Scorers that judge what an answer took: its time, and its price."""

from typing import Any

import pytest

from tests.engine.running import run_document
from tests.engine.scoring import case
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.prices import Price
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Facts
from workers.engine.scorers import build_scorer
from workers.engine.scorers.base import FactScorer
from workers.engine.spec.checks import check_against
from workers.simulator.testing import SimulatorClient

PRICES = {("simulated", "sim-small"): Price(1.0, 1.0)}
UNKNOWN = "the price of a model, or its count of tokens, is unknown"


@pytest.mark.parametrize(
    ("name", "options", "facts", "value", "reason"),
    [
        ("latency", {"milliseconds": 1000}, Facts(1000.0), 1.0, "took 1,000 ms, 1,000 ms are"),
        ("latency", {"milliseconds": 999.5}, Facts(1000.0), 0.0, "took 1,000 ms, 999.5 ms are"),
        ("latency", {"milliseconds": 1}, Facts(), None, "how long the answer took is unknown"),
        ("cost", {"dollars": 0.002}, Facts(1.0, 0.002), 1.0, "costs $0.002, $0.002 is allowed"),
        ("cost", {"dollars": 0.002}, Facts(1.0, 0.0021), 0.0, "costs $0.0021, $0.002 is allowed"),
        ("cost", {"dollars": 0.002}, Facts(1.0, 0.0), 1.0, "costs $0, $0.002 is allowed"),
        ("cost", {"dollars": 5}, Facts(1.0, 0.0000021), 1.0, "costs $0.0000021, $5 is allowed"),
        ("cost", {"dollars": 0.002}, Facts(1.0, None), None, UNKNOWN),
    ],
)
def test_what_an_answer_took_is_judged(
    name: str, options: dict[str, Any], facts: Facts, value: float | None, reason: str
) -> None:
    scorer = build_scorer(name, options)
    assert isinstance(scorer, FactScorer)
    said = scorer.judge_facts("5", case(), facts)
    assert (said.name, said.value, said.passed) == (
        name,
        value,
        None if value is None else value == 1,
    )
    assert said.reason.startswith(reason)


@pytest.fixture
def timed(document: dict[str, Any]) -> dict[str, Any]:
    one = {"prompts": document["prompts"][:1], "models": ["simulated/sim-small"]}
    scorers = [{"latency": {"milliseconds": 60_000}}, {"cost": {"dollars": 1}}]
    return {**document, **one, "scorers": scorers}


async def test_a_cached_answer_is_judged_by_what_it_took_when_it_was_asked(
    simulator: SimulatorClient, timed: dict[str, Any], cases: list[Case]
) -> None:
    cache = MemoryCache()
    first = await run_document(timed, cases[:3], simulator.url, cache, PRICES)
    again = await run_document(timed, cases[:3], simulator.url, cache, PRICES)
    assert [score.value for score in first] == [1.0] * 3
    assert all(score.cached for score in again)
    assert [score.judgements for score in again] == [score.judgements for score in first]
    assert all("costs $0.0" in score.judgements[1].reason for score in again)


async def test_without_a_price_only_the_time_counts_and_alone_it_is_an_error(
    simulator: SimulatorClient, timed: dict[str, Any], cases: list[Case]
) -> None:
    both = await run_document(timed, cases[:2], simulator.url)
    assert [(score.value, score.judgements[1].value) for score in both] == [(1.0, None)] * 2
    alone = {**timed, "scorers": [{"cost": {"dollars": 1}}]}
    for score in await run_document(alone, cases[:2], simulator.url):
        assert (score.value, score.error, score.message) == (None, "not_scored", f"cost: {UNKNOWN}")
        assert score.unjudged is not None  # a retry judges the answer that is there


def test_a_scorer_that_compares_with_nothing_needs_no_expected_column(
    timed: dict[str, Any],
) -> None:
    texts = {"contains": {"texts": ["five"]}}
    configuration = read_configuration(
        {**timed, "expected": "", "scorers": [*timed["scorers"], texts]}
    )
    check_against(configuration, endpoints={"simulated": ()}, columns=["question"], cases=1)
