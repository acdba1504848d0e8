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


def verdicts(*scores: Score) -> list[str]:
    streak = Streak()
    return [found for score in scores if (found := streak.note(score))]


@pytest.mark.parametrize(("error", "times"), [(Refused.name, 20), (BadCredentials.name, 3)])
def test_the_same_permanent_error_in_a_row_is_told_once(error, times):
    found = verdicts(*[failed(error)] * (LONGEST_STREAK + 5))
    assert len(found) == 1
    words = f"{times} trials in a row failed with “{error}”: 404: no such model. "
    assert found[0].startswith(words)


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
        pytest.param([failed(ScorerFailed.name, "words")] * 40, id="answers that cannot be scored"),
    ],
)
def test_nothing_less_stops_a_run(scores):
    assert verdicts(*scores) == []
