"""What the scorers said of an answer becomes one value, or an error, but never a zero."""

import re

import pytest

from tests.engine.running import run_document, table_of
from tests.harness.table import row, table
from workers.engine.errors import ConfigurationError, NotScored
from workers.engine.judgements import checked
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Judgement
from workers.engine.scorers import SCORERS
from workers.engine.scorers.base import Scorer
from workers.engine.verdicts import Combination, verdict_of

RIGHT = Judgement("right", 1.0, True, "")
WRONG = Judgement("wrong", 0.0, False, "")
HALF = Judgement("half", 0.5, None, "neither right nor wrong")
SILENT = Judgement("silent", None, None, "nothing to compare with")
BROKEN = Judgement("broken", None, None, "", error="no price is known")

MEAN, ALL = False, True


@table(
    row([RIGHT], (1.0,), MEAN, 1.0, True, id="one"),
    row([RIGHT, WRONG], (1.0, 1.0), MEAN, 0.5, False, id="the mean of two"),
    row([RIGHT, SILENT, BROKEN], (1.0,) * 3, MEAN, 1.0, True, id="not scored is out"),
    row([HALF], (1.0,), MEAN, 0.5, None, id="neither right nor wrong"),
    row([HALF, RIGHT], (1.0, 1.0), MEAN, 0.75, True, id="one of two can be right"),
    row([RIGHT, WRONG], (3.0, 1.0), MEAN, 0.75, False, id="by their weights"),
    row([RIGHT, WRONG], (1.0, 0.0), MEAN, 1.0, True, id="0 does not count"),
    row([WRONG, SILENT], (1.0, 9.0), MEAN, 0.0, False, id="a weight, nothing scored"),
    row([RIGHT, RIGHT], (1.0, 1.0), ALL, 1.0, True, id="all are right"),
    row([RIGHT, WRONG], (9.0, 1.0), ALL, 0.0, False, id="one wrong, of any weight"),
    row([RIGHT, WRONG], (1.0, 0.0), ALL, 1.0, True, id="one that does not count"),
    row([RIGHT, SILENT, HALF], (1.0,) * 3, ALL, 1.0, True, id="all that can pass"),
)
def test_a_verdict_is_a_weighted_mean_or_all_pass(judgements, weights, needs_all, value, passed):
    said = verdict_of(judgements, Combination(weights, needs_all))
    assert said == (value, passed, tuple(judgements))


QUIET = "silent: nothing to compare with"


@table(
    row([SILENT, RIGHT], (1.0, 0.0), MEAN, f"^{QUIET}; right: $", id="what does not count scored"),
    row([HALF], (1.0,), ALL, "^half: neither right nor wrong$", id="nothing that can pass"),
    row([SILENT, BROKEN], (1.0, 1.0), MEAN, f"^{QUIET}; broken: no price is known$", id="nobody"),
)
def test_without_a_verdict_that_counts_there_is_no_zero(judgements, weights, needs_all, told):
    with pytest.raises(NotScored, match=told):
        verdict_of(judgements, Combination(weights, needs_all))


@table(
    row({}, 0.4, (0.4, True), id="as it is"),
    row({"threshold": 0.5}, 0.4, (0.4, False), id="below the threshold"),
    row({"threshold": 0.4}, 0.4, (0.4, True), id="at the threshold"),
    row({"not": True}, 0.25, (0.75, False), id="turned over"),
    row({"not": True, "threshold": 0.5}, 0.25, (0.75, True), id="threshold first"),
    row({"not": True, "threshold": 0.5}, None, (None, None), id="not scored"),
)
def test_what_holds_for_every_scorer(options, value, value_and_side):
    passed = None if value is None else True
    said = checked(Silent.model_validate(options), Judgement("Silent", value, passed, "so"))
    assert said[1:3] == value_and_side


class OwnMeaning(Scorer):
    """Has options of its own under names that every scorer has."""

    weight: int = 7  # grams
    threshold: int = 5  # words

    def judge(self, answer: str, case: Case) -> Judgement:
        return self.verdict(len(answer.split()) < self.threshold, "few words")


def test_not_says_so_and_a_plug_in_keeps_its_own_meaning_of_an_option():
    scorer = Silent.model_validate({"not": True, "as": "mine"})
    said = checked(scorer, Judgement("Silent", 1.0, True, "odd"))
    assert said == Judgement("mine", 0.0, False, "not: odd")
    assert scorer.verdict(True, "odd").name == "mine"
    # A plug-in keeps its own meaning of an option.
    plug_in = OwnMeaning()
    said = checked(plug_in, plug_in.judge("two words", Case(0, {})))
    assert (said.value, said.passed, plug_in.counts) == (1.0, True, 1.0)


@table(
    ([{"exact": {"weight": 0}}], "All scorers have the weight 0. At least one must count."),
    ([{"exact": {"weight": 0.0001}}], "Give 0, or a weight from 0.001 up."),
    ([{"exact": {"threshold": 2}}], "exact.threshold"),
    ([{"exact": {"as": "same"}}, {"contains": {"as": "same"}}], "Given twice: same."),
    (["exact", {"contains": {"as": "exact"}}], "Given twice: exact."),
    ([{"exact": {"is_negated": True}}], "has no option 'is_negated'"),
)
def test_a_configuration_is_refused_that_would_mean_nothing(document, scorers, told):
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        read_configuration({**document, "scorers": scorers})


def test_two_of_the_same_without_a_name_are_taken_as_before(document):
    twins = ["exact", {"exact": {"ignore_case": True}}]
    first, second = read_configuration({**document, "scorers": twins}).scorers
    assert (first.name, first.options) == ("exact", {})
    assert (second.name, second.options) == ("exact", {"ignore_case": True})


async def test_a_run_weighs_turns_over_and_combines(simulator, plain, cases):
    scorers = [{"numeric": {"weight": 3}}, {"numeric": {"not": True, "as": "wrong"}}]
    mean = await run_document({**plain, "scorers": scorers}, cases, simulator.url)
    assert {score.value for score in mean} == {0.75, 0.25}  # right and wrong answers
    assert {score.passed for score in mean} == {False}
    assert [said.name for said in mean[0].judgements] == ["numeric", "wrong"]
    strict = {**plain, "scorers": scorers, "combine": "all"}
    assert {one.value for one in await run_document(strict, cases, simulator.url)} == {0.0}


class Silent(Scorer):
    """Has nothing to say about even cases."""

    needs_expected = False

    def judge(self, answer: str, case: Case) -> Judgement:
        return self.verdict(True, "odd") if case.position % 2 else self.not_scored("even")


async def test_a_trial_that_nobody_scored_fails_at_any_speed(simulator, plain, cases, monkeypatch):
    monkeypatch.setitem(SCORERS.ours, "silent", Silent)
    scores = await run_document({**plain, "scorers": ["silent"]}, cases[:4], simulator.url)
    found = [(score.value, score.error) for score in scores]
    assert found == [(None, "not_scored"), (1.0, "")] * 2
    failed = scores[0]
    assert (failed.answer, failed.message) == (failed.unjudged.text, "Silent: even")
    assert failed.judgements == (Judgement("Silent", None, None, "even"),)
    simulator.change(latency_ms=2, jitter=0.9)
    plain["scorers"] = ["silent", {"exact": {"not": True, "weight": 2}}, "token_f1"]
    parallel = await run_document(plain, cases, simulator.url)
    plain["limits"] = {**plain["limits"], "max_concurrent": 1}
    sequential = await run_document(plain, cases, simulator.url)
    assert table_of(parallel) == table_of(sequential)
    assert [one.judgements for one in parallel] == [one.judgements for one in sequential]
