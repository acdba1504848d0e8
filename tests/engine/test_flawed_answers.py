"""Answers that are no whole texts: their trials fail and say why, unless they are to be scored; the
same permanent error again and again stops a run, and nothing less does. And what the scorers said
of an answer becomes one value, or an error, but never a zero."""

import re

import pytest

from tests.engine.running import run_document, table_of
from tests.harness.table import row, table
from workers.engine import errors
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.flaws import FLAWS
from workers.engine.errors import ConfigurationError, NotScored
from workers.engine.judgements import checked
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Judgement, Score, Trial
from workers.engine.scorers import SCORERS
from workers.engine.scorers.base import Scorer
from workers.engine.select_best import Answer, select_best
from workers.engine.streaks import LONGEST_STREAK, Streak
from workers.engine.verdicts import Combination, verdict_of

ENDINGS = {"length": "truncated", "content_filter": "filtered", "tool_calls": "no_text"}


def one_model(document, model, **more):
    prompts = [{"name": "plain", "user": "{{question}}"}]
    return {**document, "models": [f"simulated/{model}"], "prompts": prompts, **more}


@table(*ENDINGS.items())
async def test_a_flawed_answer_is_an_error_unless_wanted(simulator, document, cases, ending, flaw):
    simulator.reset()
    cache = MemoryCache()
    asked = one_model(document, f"sim-small:{ending}")
    [score] = await run_document(asked, cases[:1], simulator.url, cache=cache)
    assert (score.value, score.error, score.calls_sent) == (None, flaw, 1)
    assert score.tokens_in
    assert bool(score.answer) == score.truncated == (flaw == "truncated")
    assert errors.CALL_ERRORS[flaw].advice.count(f"answers.score_{flaw}: true") == 1
    assert not cache.replies
    asked["answers"] = {f"score_{flaw}": True}
    [score] = await run_document(asked, cases[:1], simulator.url, cache=cache)
    assert simulator.ledger()["total"] == 2  # it was asked again, and once
    assert (score.error, score.truncated) == ("", flaw == "truncated")
    assert score.value is not None
    assert [reply.flaw for reply in cache.replies.values()] == ["truncated"] * (ending == "length")
    # A cut answer comes back from the cache as one.
    if ending == "length":
        del asked["answers"]
        [failed] = await run_document(asked, cases[:1], simulator.url, cache=cache)
        assert (failed.error, failed.cached, failed.calls_sent) == ("truncated", True, 0)
        assert simulator.ledger()["total"] == 2


async def test_equal_calls_at_once_fail_each_by_itself(simulator, document, cases):
    twins = [Case(position, cases[0].fields) for position in range(3)]
    scores = await run_document(one_model(document, "sim-small:length"), twins, simulator.url)
    assert [score.error for score in scores] == ["truncated"] * 3
    assert {score.cached for score in scores} == {False}


def best_of(answer):
    """What is found by an agent that always gives this."""
    models, dataset = {"step": ["small"]}, [("Say it.", "")]
    return select_best(lambda *_: answer, models, dataset, lambda *pair: float(len(set(pair)) == 1))


@table(*FLAWS)
def test_an_agent_of_ones_own_may_tell_a_flaw(flaw):
    found = best_of(Answer("", cost=0.5, flaw=flaw))
    assert (found.best, found.dollars) == (None, 0.5)
    assert found.errors == [f"The agent's answer is not whole: {flaw.replace('_', ' ')}."]
    # A bare empty text is no answer.
    assert best_of("").best is None
    assert best_of(Answer("")).best is not None


GOOD = Score(Trial(0, "a", 0, 0), value=1.0)


def failed(error, answer=""):
    return Score(Trial(0, "a", 0, 0), error=error, message="404: no such model", answer=answer)


REFUSED = failed(errors.Refused.name)
RETRY = "If a judge failed, retry: it judges the stored answer again."


def verdict(*scores):
    """The first one, on a run with one model."""
    streak = Streak(models=1)
    return next((told for score in scores if (told := streak.note(score, "model"))), "")


@table(
    (errors.Refused, LONGEST_STREAK, ""),
    (errors.BadCredentials, 3, ""),
    (errors.AnswerCut, LONGEST_STREAK, errors.AnswerCut.advice),
    (errors.ScorerFailed, LONGEST_STREAK, "then duplicate the run: cached answers cost nothing."),
    (errors.ScorerFailed, LONGEST_STREAK, RETRY),
)
def test_the_same_permanent_error_in_a_row_is_told_with_what_to_do(error, times, advice):
    scores = [failed(error.name, "words" if error is errors.ScorerFailed else "")] * times
    assert verdict(*scores[1:]) == ""
    found = verdict(*scores)
    name = error.name.replace("_", " ")
    assert found.startswith(f"{times} trials in a row failed with “{name}”: 404: no such model. ")
    assert advice in found


@table(
    row([REFUSED] * (LONGEST_STREAK - 1), id="one too few"),
    row([*[REFUSED] * 19, GOOD, *[REFUSED] * 19], id="one success"),
    row([REFUSED, failed(errors.BadCredentials.name)] * 30, id="different errors"),
    row([failed(errors.ServerError.name)] * 40, id="may get better by itself"),
    row([failed(errors.MalformedAnswer.name)] * 40, id="was tried again already"),
    row([*[failed(errors.ScorerFailed.name, "words")] * 19, GOOD] * 3, id="some cannot be scored"),
)
def test_nothing_less_stops_a_run(scores):
    assert verdict(*scores) == ""


def test_one_model_that_is_refused_does_not_stop_the_others():
    streak = Streak(models=2)
    assert not any(streak.note(REFUSED, "broken") for _ in range(60))
    assert streak.note(REFUSED, "the other").startswith("61 trials in a row")


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
