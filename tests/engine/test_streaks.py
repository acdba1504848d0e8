"""A run is stopped by the same permanent error again and again, and by nothing less."""

import pytest

from workers.engine.errors import (
    BadCredentials,
    MalformedAnswer,
    Refused,
    ScorerFailed,
    ServerError,
)
from workers.engine.records import Score, Trial
from workers.engine.streaks import LONGEST_STREAK, Streak

GOOD = Score(Trial(0, "a", 0, 0), value=1.0)


def failed(error: str, answer: str = "") -> Score:
    return Score(Trial(0, "a", 0, 0), error=error, message="404: no such model", answer=answer)


def verdict(*scores: Score) -> str:
    """The first one, on a run with one model."""
    streak = Streak(models=1)
    return next((told for score in scores if (told := streak.note(score, "model"))), "")


@pytest.mark.parametrize(("error", "times"), [(Refused.name, 20), (BadCredentials.name, 3)])
def test_the_same_permanent_error_in_a_row_is_told(error, times):
    found = verdict(*[failed(error)] * (LONGEST_STREAK + 5))
    words = f"{times} trials in a row failed with “{error}”: 404: no such model. "
    assert found.startswith(words)


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param([failed(Refused.name)] * (LONGEST_STREAK - 1), id="one too few"),
        pytest.param(
            [*[failed(Refused.name)] * 19, GOOD, *[failed(Refused.name)] * 19], id="one success"
        ),
        pytest.param(
            [failed(Refused.name), failed(BadCredentials.name)] * 30, id="different errors"
        ),
        pytest.param([failed(ServerError.name)] * 40, id="may get better by itself"),
        pytest.param([failed(MalformedAnswer.name)] * 40, id="was tried again already"),
        pytest.param(
            [*[failed(ScorerFailed.name, "words")] * 19, GOOD] * 3, id="some cannot be scored"
        ),
    ],
)
def test_nothing_less_stops_a_run(scores):
    assert verdict(*scores) == ""


def test_answers_that_cannot_be_scored_are_told_with_what_to_do():
    found = verdict(*[failed(ScorerFailed.name, "words")] * LONGEST_STREAK)
    assert found.startswith("20 trials in a row failed with “scorer error”: 404: no such model. ")
    assert "then duplicate the run: cached answers cost nothing." in found
    assert found.endswith("If a judge failed, retry: it judges the stored answer again.")


def test_one_model_that_is_refused_does_not_stop_the_others():
    streak = Streak(models=2)
    assert not any(streak.note(failed(Refused.name), "broken") for _ in range(60))
    assert streak.note(failed(Refused.name), "the other").startswith("61 trials in a row")
