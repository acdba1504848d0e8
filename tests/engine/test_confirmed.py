"""Held-out cases: nobody is ranked by them, and the best is scored on them at the end."""

from typing import Any

import pytest

from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.records import CONFIRM, EVALUATE, Score, Trial
from workers.engine.session import Session
from workers.engine.spec.checks import check_against
from workers.engine.strategies.confirmed import Confirmed, confirmation_key, split_cases

CASES = 20
PROMPTS = [{"name": name, "user": "{{question}}", "system": name} for name in "abc"]
EVALUATION = {
    "kind": "evaluate",
    "dataset": "sums",
    "prompts": PROMPTS,
    "models": ["one/m"],
    "scorers": ["exact"],
    "held_out": 0.25,
}
SELECTION = {
    "kind": "select",
    "dataset": "sums",
    "steps": [{"name": "s", "user": "{{question}}", "models": ["one/a", "one/b", "one/c"]}],
    "strategy": "brute_force",
    "scorers": ["exact"],
    "held_out": 5,
}
TWO_LEVEL = {**EVALUATION, "limits": {"schedule": "two_level"}, "repeats": 2}
BEST = 1  # the place of the candidate that is right most often
DOCUMENTS = [
    pytest.param(EVALUATION, id="evaluate"),
    pytest.param(TWO_LEVEL, id="two_level"),
    pytest.param(SELECTION, id="select"),
    pytest.param({**SELECTION, "strategy": "arm_elimination"}, id="rounds"),
]


def begin(document: dict[str, Any]) -> Session:
    return Session(read_configuration(document).begin(CASES))


def answered(session: Session, trials: list[Trial], best: int = BEST) -> list[Score]:
    """The best is right everywhere, the others on every third case."""
    right = session.candidates[best].key
    known = {right, confirmation_key(right)}
    return [Score(t, value=float(t.candidate in known or t.case % 3 == 0)) for t in trials]


def play(session: Session, at_once: int, best: int = BEST) -> list[Score]:
    scores: list[Score] = []
    while not session.is_finished:
        trials = session.plan(at_once)
        assert trials or session.unscored(), "it neither asks nor waits"
        fresh = answered(session, trials, best)
        session.absorb(reversed(fresh))
        scores += fresh
    return scores


@pytest.mark.parametrize("at_once", [1, 7, 1000])
@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_best_is_scored_on_cases_that_nobody_was_ranked_by(document: Any, at_once: int) -> None:
    session = begin(document)
    repeats = document.get("repeats", 1)
    scores = play(session, at_once)
    split = split_cases(CASES, 5, 0)
    roles = {candidate.key: candidate.role for candidate in session.candidates}
    ranked = [s.trial for s in scores if roles[s.trial.candidate] == EVALUATE]
    confirmed = [s.trial for s in scores if roles[s.trial.candidate] == CONFIRM]
    assert {trial.case for trial in ranked} <= set(split.ranked)
    assert sorted(t.case for t in confirmed) == sorted([*split.held_out] * repeats)
    assert {t.repeat for t in confirmed} == set(range(repeats))
    best = session.candidates[BEST]
    assert session.best == BEST
    assert {t.candidate for t in confirmed} == {confirmation_key(best.key)}
    assert session.candidates[-1].document == best.document
    assert [s.trial.position for s in scores] == list(range(len(scores)))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_replay_stands_where_the_run_stood(document: Any) -> None:
    scores = play(begin(document), 7)
    for told in range(0, len(scores) + 1, 3):
        again = begin(document)
        again.replay(told, scores[:told])
        rest = play(again, 7)
        assert [s.trial for s in rest] == [s.trial for s in scores[told:]]
        assert again.best == BEST


@pytest.mark.parametrize("document", DOCUMENTS[:3])  # elimination asks other trials long before
def test_after_a_retry_that_makes_another_one_best_the_confirmation_is_another(
    document: Any,
) -> None:
    scores = play(begin(document), 1000)
    session, other = begin(document), 2
    changed = answered(session, [s.trial for s in scores], other)
    session.replay(len(scores), changed)
    first = next(p for p, s in enumerate(scores) if s.trial.candidate not in known_keys(session))
    assert session.first_difference(len(scores)) == first


def known_keys(session: Session) -> set[str]:
    return {one.key for one in session.candidates if one.role == EVALUATE}


def test_nobody_with_a_score_is_nobody_to_confirm() -> None:
    session = begin(EVALUATION)
    while not session.is_finished:
        session.absorb([Score(trial, error="timeout") for trial in session.plan(100)])
    assert (session.asked, session.best, len(session.candidates)) == (45, None, 3)


def test_the_split_is_the_seeds_and_covers_every_case() -> None:
    split = split_cases(1000, 200, 7)
    assert sorted([*split.ranked, *split.held_out]) == list(range(1000))
    assert len(split.held_out) == 200
    assert split == split_cases(1000, 200, 7)
    assert split != split_cases(1000, 200, 8)
    assert abs(sum(split.held_out) / 200 - 499.5) < 75  # from everywhere, not from one end


@pytest.mark.parametrize(
    ("held_out", "count"),
    [(0.25, 5), (0.001, 1), (1, 1), (7, 7), (None, 0)],
)
def test_a_share_or_a_number_of_cases_is_held_out(held_out: Any, count: int) -> None:
    made = read_configuration({**EVALUATION, "held_out": held_out})
    assert made.count_held_out(CASES) == count
    assert made.count_ranked(CASES) == CASES - count
    assert isinstance(made.begin(CASES), Confirmed) == bool(count)


@pytest.mark.parametrize(("held_out", "told"), [(0, "greater than 0"), (2.5, "whole number")])
def test_what_is_no_share_and_no_number_is_refused(held_out: float, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        read_configuration({**EVALUATION, "held_out": held_out})


@pytest.mark.parametrize("held_out", [20, 500, 0.99])
def test_some_cases_must_be_left_to_rank_by(held_out: float) -> None:
    made = read_configuration({**EVALUATION, "held_out": held_out})
    with pytest.raises(ConfigurationError) as caught:
        check_against(made, endpoints={"one": {}}, columns=["question", "expected"], cases=CASES)
    assert caught.value.problems[0].path == "held_out"
    assert "hold out at most 19" in caught.value.problems[0].message
