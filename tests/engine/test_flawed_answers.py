"""Answers that are no whole texts: their trials fail and say why, unless they are to be scored; the
same permanent error again and again stops a run, and nothing less does."""

from tests.engine.running import run_document
from tests.engine.test_spec import problems_of
from tests.harness.table import row, table
from workers.engine import errors
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.flaws import FLAWS
from workers.engine.records import Case, Score, Trial
from workers.engine.select_best import Answer, select_best
from workers.engine.streaks import LONGEST_STREAK, Streak

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


@table("yes", 1, None)
def test_a_switch_is_true_or_false(document, value):
    found = problems_of({**document, "answers": {"score_truncated": value}})
    assert list(found) == ["answers.score_truncated"]


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


def verdict(*scores):
    """The first one, on a run with one model."""
    streak = Streak(models=1)
    return next((told for score in scores if (told := streak.note(score, "model"))), "")


@table(
    (errors.Refused, LONGEST_STREAK, ""),
    (errors.BadCredentials, 3, ""),
    (errors.AnswerCut, LONGEST_STREAK, errors.AnswerCut.advice),
    (errors.ScorerFailed, LONGEST_STREAK, "then duplicate the run: cached answers cost nothing."),
    (
        errors.ScorerFailed,
        LONGEST_STREAK,
        "If a judge failed, retry: it judges the stored answer again.",
    ),
)
def test_the_same_permanent_error_in_a_row_is_told_with_what_to_do(error, times, advice):
    scores = [failed(error.name, "words" if error is errors.ScorerFailed else "")] * times
    assert verdict(*scores[1:]) == ""
    found = verdict(*scores)
    name = error.name.replace("_", " ")
    assert found.startswith(f"{times} trials in a row failed with “{name}”: 404: no such model. ")
    assert advice in found


@table(
    row([failed(errors.Refused.name)] * (LONGEST_STREAK - 1), id="one too few"),
    row(
        [*[failed(errors.Refused.name)] * 19, GOOD, *[failed(errors.Refused.name)] * 19],
        id="one success",
    ),
    row(
        [failed(errors.Refused.name), failed(errors.BadCredentials.name)] * 30,
        id="different errors",
    ),
    row([failed(errors.ServerError.name)] * 40, id="may get better by itself"),
    row([failed(errors.MalformedAnswer.name)] * 40, id="was tried again already"),
    row([*[failed(errors.ScorerFailed.name, "words")] * 19, GOOD] * 3, id="some cannot be scored"),
)
def test_nothing_less_stops_a_run(scores):
    assert verdict(*scores) == ""


def test_one_model_that_is_refused_does_not_stop_the_others():
    streak = Streak(models=2)
    assert not any(streak.note(failed(errors.Refused.name), "broken") for _ in range(60))
    assert streak.note(failed(errors.Refused.name), "the other").startswith("61 trials in a row")
