"""Scorers in processes of their own: whatever one does, its trial fails and the loop goes on."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests import odd_scorers
from tests.engine.running import run_document
from workers.engine.judgements import LOOP_STEPS, judge_apart, judge_if_quick
from workers.engine.lanes import ProcessLane
from workers.engine.plugins import PLUGINS
from workers.engine.records import Case, Facts, Judgement, Score
from workers.engine.scorers import Scorer, build_scorer
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.late  # it starts many processes

PACKAGE = odd_scorers.__name__


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    odd_scorers.register()
    yield
    PLUGINS.clear()


@pytest.fixture
def plain(document: dict[str, Any]) -> dict[str, Any]:
    """One prompt and one model."""
    return {**document, "prompts": document["prompts"][:1], "models": ["simulated/sim-small"]}


async def test_whatever_a_plug_in_does_its_trial_fails_and_keeps_its_answer(
    simulator: SimulatorClient, plain: dict[str, Any], cases: list[Case]
) -> None:
    mixed = {**plain, "scorers": [f"{PACKAGE}.Misbehaves", "numeric"]}
    scores = await run_document(mixed, cases[: len(odd_scorers.WAYS)], simulator.url)
    for score, (_, told) in zip(scores, odd_scorers.WAYS, strict=True):
        assert score.error == ("scorer_error" if told else ""), score
        assert told in score.message
        assert len(score.message) <= 500
        assert score.answer
        assert (score.unjudged is not None) == bool(told)
        assert score.judging is None  # no model was asked
    silent, bounded, fine = (score.judgements[0] for score in scores[-3:])
    assert silent == ("odd", None, None, "nothing to say", "", "", ())
    assert scores[-3].value == scores[-3].judgements[1].value  # the other scorer's alone
    assert bounded == ("odd" * 33 + "…", 1.0, True, "no\ufffd?" + "x" * 495 + "…", "", "", ())
    assert fine == ("odd", 1.0, True, "fine", "", "", ())


async def test_a_plug_in_that_asks_is_not_on_the_loop_either(
    simulator: SimulatorClient, plain: dict[str, Any], cases: list[Case]
) -> None:
    said = {"first a": "A", "first b": "B", "second A": "again A", "second B": "again B"}
    simulator.play(
        *({"match": {"contains": text}, "do": "answer", "answer": said[text]} for text in said),
        {"match": {"contains": "fails"}, "do": "status", "status": 400},
    )
    asks = {f"{PACKAGE}.Asks": {"model": "simulated/sim-large"}}
    good, hangs, never_ends, astray = await run_document(
        {**plain, "scorers": [asks]}, cases[:4], simulator.url
    )
    told, _, process = good.judgements[0].reason.rpartition(" ")
    assert told == "again A again B refused"
    assert int(process) != os.getpid()
    assert sent(good) == 5  # each once, though it began anew for every round of calls
    assert "took longer than the 10 s" in hangs.message
    assert "asked for more than 100 calls for one answer" in never_ends.message
    assert sent(never_ends) == 100
    assert "asks the endpoint 'nowhere', which none of its options names." in astray.message


def sent(score: Score) -> int:
    assert score.judging is not None
    return score.judging.sent


QUICK = [
    ("exact", {}, "5", 1),
    ("contains", {}, "5", 1),
    ("contains", {"separator": "|"}, "5|6|7|8", 4),
    ("numeric", {}, "5", 20),
    ("regex", {"pattern": r"\d+"}, "5", 6),
    ("regex", {"pattern": r"(?m)^Result: (\d+)$"}, "5", 19),
    ("regex", {"pattern_field": "rule"}, "5", 2005),
]


@pytest.mark.parametrize(("name", "options", "expected", "steps"), QUICK)
async def test_ours_are_judged_at_once_unless_that_may_take_more_than_a_few_milliseconds(
    name: str, options: dict[str, Any], expected: str, steps: int
) -> None:
    """Steps are counted, not time: one takes at most some 20 ns."""
    scorer = build_scorer(name, options)
    assert isinstance(scorer, Scorer)
    case = Case(0, {"expected": expected, "rule": "(?:a?){1000}X"})
    short, long = "a" * (LOOP_STEPS // steps), "a" * (LOOP_STEPS // steps + 1)
    assert scorer.steps(short, case) == steps * len(short) <= LOOP_STEPS
    assert judge_if_quick(scorer, short, case, Facts()) == scorer.judge(short, case)
    assert judge_if_quick(scorer, long, case, Facts()) is None


async def test_what_is_long_is_judged_the_same_in_another_process(
    simulator: SimulatorClient, plain: dict[str, Any], cases: list[Case]
) -> None:
    long = "a" * 1000 + "X" + " So it is 1, or 2, or 3." * 1000
    simulator.play({"times": None, "do": "answer", "answer": long})
    scorers: list[Any] = ["numeric", "exact", {"regex": {"pattern": "(?:a?){1000}X"}}]
    case = Case(0, {**cases[0].fields, "expected": "3"})
    (score,) = await run_document({**plain, "scorers": scorers}, [case], simulator.url)
    assert [one.passed for one in score.judgements] == [True, False, True]
    lane = ProcessLane()
    built = [build_scorer(*named(one)) for one in scorers]
    apart = [
        await judge_apart(lane.share(""), one, long, case, Facts())
        for one in built
        if isinstance(one, Scorer)
    ]
    assert len(lane.pids) == 1
    await lane.close()
    assert apart == list(score.judgements)


async def test_a_plug_in_is_told_what_an_answer_took_in_its_process_too() -> None:
    lane = ProcessLane()
    dear = build_scorer(f"{PACKAGE}.Dear", {"not": True, "as": "cheap"})
    assert isinstance(dear, Scorer)
    said = await judge_apart(lane.share(""), dear, "5", Case(0, {}), Facts(12.5, 0.5))
    await lane.close()
    assert said == Judgement("cheap", 0.0, False, "not: 12.5 ms, $0.5")


def named(entry: Any) -> tuple[str, dict[str, Any]]:
    return (entry, {}) if isinstance(entry, str) else next(iter(entry.items()))
