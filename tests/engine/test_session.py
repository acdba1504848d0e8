"""Sessions plan and absorb; after a crash they are replayed."""

from collections.abc import Sequence

import pytest

from workers.engine.records import Candidate, Score, Trial
from workers.engine.session import Session
from workers.engine.strategies.grid import Grid


class Chasing:
    """A listening strategy of the test's own: rounds of three, chosen by the sum of values."""

    learns = listens = True
    hears: frozenset[str] = frozenset()
    planned: int | None = None
    best: int | None = None
    candidates: Sequence[Candidate] = ()

    def __init__(self, rounds: int = 4) -> None:
        self._rounds = rounds
        self._queue: list[Trial] = []
        self._asked = 0
        self._sum = 0.0
        self.told: list[int] = []

    def ask(self, limit: int) -> list[Trial]:
        if not self._queue and self._asked < self._rounds * 3:
            start = self._asked
            self._queue = [Trial(start + n, f"c{int(self._sum) % 5}", n, start) for n in range(3)]
            self._asked += 3
        given, self._queue = self._queue[:limit], self._queue[limit:]
        return given

    def tell(self, scores: Sequence[Score]) -> None:
        for score in scores:
            self.told.append(score.trial.position)
            self._sum += score.value or 0.0


def value_of(trial: Trial) -> Score:
    return Score(trial, value=float(len(trial.candidate) + trial.position * 7 % 4))


def play(session: Session, limit: int) -> list[Trial]:
    played: list[Trial] = []
    while trials := session.plan(limit):
        session.absorb(value_of(trial) for trial in reversed(trials))
        played += trials
    return played


def grid(candidates: int = 3, cases: int = 4, repeats: int = 2) -> Grid:
    return Grid([Candidate(f"c{n}", f"c{n}", {}) for n in range(candidates)], cases, repeats, 0)


def test_a_grid_asks_every_combination_once() -> None:
    trials = play(Session(grid()), limit=5)
    assert [trial.position for trial in trials] == list(range(24))
    assert {trial[1:] for trial in trials} == {
        (f"c{c}", case, repeat) for c in range(3) for case in range(4) for repeat in range(2)
    }


def test_a_grid_goes_case_by_case() -> None:
    assert [(t.candidate, t.case) for t in Session(grid()).plan(4)] == [
        ("c0", 0),
        ("c1", 0),
        ("c2", 0),
        ("c0", 1),
    ]


def test_a_grid_plans_ahead_and_finishes_when_all_is_told() -> None:
    session = Session(grid())
    trials = session.plan(100)
    assert len(trials) == 24
    assert session.plan(100) == []
    assert not session.is_finished
    session.absorb(value_of(trial) for trial in trials)
    assert session.is_finished


def test_a_listening_strategy_waits_for_its_scores() -> None:
    session = Session(Chasing())
    first = session.plan(10)
    assert len(first) == 3
    assert session.plan(10) == []
    session.absorb(value_of(trial) for trial in first[:2])
    assert session.plan(10) == []
    session.absorb([value_of(first[2])])
    assert len(session.plan(10)) == 3


def test_scores_are_told_in_order_whatever_came_first() -> None:
    strategy = Chasing()
    session = Session(strategy)
    trials = session.plan(3)
    for trial in (trials[2], trials[0], trials[1]):
        session.absorb([value_of(trial)])
    assert strategy.told == [0, 1, 2]


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_the_limit_does_not_change_what_is_asked(limit: int) -> None:
    assert play(Session(Chasing()), limit) == play(Session(Chasing()), 3)


@pytest.mark.parametrize("asked", range(13))
def test_a_replayed_session_goes_on_where_the_other_was(asked: int) -> None:
    whole = play(Session(Chasing()), 1)
    scores = [value_of(trial) for trial in whole[:asked]]
    session = Session(Chasing())
    session.replay(asked, reversed(scores))
    assert session.asked == session.told == asked
    assert play(session, 1) == whole[asked:]


def test_a_replay_may_lack_scores_that_never_came() -> None:
    session = Session(Chasing())
    session.replay(6, [value_of(trial) for trial in play(Session(Chasing()), 3)[:5]])
    assert (session.asked, session.told) == (6, 5)
    assert session.plan(10) == []


def test_a_small_round_is_given_whole_and_a_larger_one_waits_for_the_next_plan() -> None:
    whole, careful = Session(Chasing()), Session(Chasing())
    assert careful.plan_small(2) == []
    assert careful.asked == 0
    given = [*careful.plan(1), *careful.plan(5)]
    assert given == whole.plan(3)
    assert careful.plan(5) == careful.plan_small(5) == []  # it listens
    for session in (whole, careful):
        session.absorb(map(value_of, given))
    assert careful.plan_small(3) == whole.plan(3)


def test_what_has_no_score_yet_is_known_by_its_positions() -> None:
    session = Session(Chasing())
    trials = session.plan(3)
    session.absorb([value_of(trials[1])])
    assert session.unscored() == {0, 2}
