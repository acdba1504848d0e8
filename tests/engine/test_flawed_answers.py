"""Answers that are no whole texts: their trials fail and say why, unless they are to be scored."""

from typing import Any

import pytest

from tests.engine.running import run_document
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.flaws import FLAWS
from workers.engine.errors import CALL_ERRORS, AnswerCut, ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Score, Trial
from workers.engine.select_best import Answer, select_best
from workers.engine.streaks import LONGEST_STREAK, Streak
from workers.simulator.testing import SimulatorClient

ENDINGS = {"length": "truncated", "content_filter": "filtered", "tool_calls": "no_text"}


def one_model(document: dict[str, Any], model: str, **more: Any) -> dict[str, Any]:
    prompts = [{"name": "plain", "user": "{{question}}"}]
    return {**document, "models": [f"simulated/{model}"], "prompts": prompts, **more}


@pytest.mark.parametrize(("ending", "flaw"), ENDINGS.items())
async def test_a_flawed_answer_is_an_error_of_its_own_that_is_paid_and_shown(
    simulator: SimulatorClient,
    document: dict[str, Any],
    cases: list[Case],
    ending: str,
    flaw: str,
) -> None:
    cache = MemoryCache()
    asked = one_model(document, f"sim-small:{ending}")
    [score] = await run_document(asked, cases[:1], simulator.url, cache=cache)
    assert (score.value, score.error, score.calls_sent) == (None, flaw, 1)
    assert score.tokens_in
    assert bool(score.answer) == score.truncated == (flaw == "truncated")
    assert CALL_ERRORS[flaw].advice.count(f"answers.score_{flaw}: true") == 1
    assert not cache.replies
    await run_document(asked, cases[:1], simulator.url, cache=cache)
    assert simulator.ledger()["total"] == 2  # it was asked again, and once


@pytest.mark.parametrize(("ending", "flaw"), ENDINGS.items())
async def test_a_flawed_answer_is_scored_where_the_configuration_says_so(
    simulator: SimulatorClient,
    document: dict[str, Any],
    cases: list[Case],
    ending: str,
    flaw: str,
) -> None:
    cache = MemoryCache()
    answers = {"answers": {f"score_{flaw}": True}}
    asked = one_model(document, f"sim-small:{ending}", **answers)
    [score] = await run_document(asked, cases[:1], simulator.url, cache=cache)
    assert (score.error, score.truncated) == ("", flaw == "truncated")
    assert score.value is not None
    assert [reply.flaw for reply in cache.replies.values()] == (
        ["truncated"] if flaw == "truncated" else []
    )


async def test_a_cut_answer_comes_back_from_the_cache_as_one(
    simulator: SimulatorClient, document: dict[str, Any], cases: list[Case]
) -> None:
    cache = MemoryCache()
    asked = one_model(document, "sim-small:length")
    scored = {**asked, "answers": {"score_truncated": True}}
    await run_document(scored, cases[:1], simulator.url, cache=cache)
    [failed] = await run_document(asked, cases[:1], simulator.url, cache=cache)
    assert (failed.error, failed.cached, failed.calls_sent) == ("truncated", True, 0)
    assert simulator.ledger()["total"] == 1


async def test_equal_calls_at_once_fail_each_by_itself(
    simulator: SimulatorClient, document: dict[str, Any], cases: list[Case]
) -> None:
    twins = [Case(position, cases[0].fields) for position in range(3)]
    scores = await run_document(one_model(document, "sim-small:length"), twins, simulator.url)
    assert [score.error for score in scores] == ["truncated"] * 3
    assert {score.cached for score in scores} == {False}


async def test_the_message_names_the_limit_that_was_met(
    simulator: SimulatorClient, document: dict[str, Any], cases: list[Case]
) -> None:
    short = {"endpoint": "simulated", "model": "sim-small", "parameters": {"max_tokens": 1}}
    prompts = [{"name": "chatty", "system": "Be chatty.", "user": "{{question}}"}]
    asked = {**document, "models": [short], "prompts": prompts}
    [score] = await run_document(asked, cases[:1], simulator.url)
    assert score.message == "The answer was cut off at max_tokens = 1."


def test_twenty_cut_answers_in_a_row_are_enough() -> None:
    streak = Streak(models=1)
    told = [
        streak.note(Score(Trial(n, "a", n, 0), error="truncated", message="Cut at 24."), "m")
        for n in range(LONGEST_STREAK)
    ]
    assert not any(told[:-1])
    assert told[-1].startswith("20 trials in a row failed with “truncated”: Cut at 24.")
    assert AnswerCut.advice in told[-1]


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_a_switch_is_true_or_false(document: dict[str, Any], value: Any) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_configuration({**document, "answers": {"score_truncated": value}})
    assert [problem.path for problem in refused.value.problems] == ["answers.score_truncated"]


@pytest.mark.parametrize("flaw", FLAWS)
def test_an_agent_of_ones_own_may_tell_a_flaw(flaw: str) -> None:
    found = select_best(
        lambda models, given: Answer("5", cost=0.5, flaw=flaw),
        {"step": ["small"]},
        [("2 + 3?", "5")],
        lambda expected, actual: float(expected == actual),
    )
    assert (found.best, found.dollars) == (None, 0.5)
    assert found.errors == [f"The agent's answer is not whole: {flaw.replace('_', ' ')}."]


@pytest.mark.parametrize(("given", "wins"), [("", False), (Answer(""), True)])
def test_a_bare_empty_text_is_no_answer(given: Any, wins: bool) -> None:
    found = select_best(
        lambda models, question: given,
        {"step": ["small"]},
        [("Say nothing.", "")],
        lambda expected, actual: float(expected == actual),
    )
    assert (found.best is not None) == wins
