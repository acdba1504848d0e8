"""Sessions plan, absorb, are replayed after a crash, and confirm the best."""

from collections.abc import Sequence
from itertools import product

from tests.engine.test_spec import problems_beside, problems_of
from tests.harness.table import table
from workers.engine.kinds import read_configuration
from workers.engine.records import CONFIRM, EVALUATE, Candidate, Score, Trial
from workers.engine.session import Session
from workers.engine.strategies.confirmed import Confirmed, confirmation_key, split_cases
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


def value_of(trial):
    return Score(trial, value=float(len(trial.candidate) + trial.position * 7 % 4))


def play(session, limit):
    played: list[Trial] = []
    while trials := session.plan(limit):
        session.absorb(value_of(trial) for trial in reversed(trials))
        played += trials
    return played


def grid(candidates=3, cases=4, repeats=2):
    return Grid([Candidate(f"c{n}", f"c{n}", {}) for n in range(candidates)], cases, repeats, 0)


def test_a_grid_asks_every_combination_once_case_by_case():
    session = Session(grid())
    trials = session.plan(100)
    assert trials == play(Session(grid()), limit=5)
    assert [trial.position for trial in trials] == list(range(24))
    assert {trial[1:] for trial in trials} == set(product(["c0", "c1", "c2"], range(4), range(2)))
    first = [(trial.candidate, trial.case) for trial in trials[:4]]
    assert first == [("c0", 0), ("c1", 0), ("c2", 0), ("c0", 1)]
    # It plans ahead, and is finished when all is told.
    assert session.plan(100) == []
    assert not session.is_finished
    session.absorb(value_of(trial) for trial in trials)
    assert session.is_finished


def test_a_listening_strategy_waits_for_its_scores_and_is_told_them_in_order():
    strategy = Chasing()
    session = Session(strategy)
    first, second, third = session.plan(10)
    for trial in (third, first):
        assert session.plan(10) == []
        session.absorb([value_of(trial)])
    assert session.unscored() == {1}
    assert session.plan(10) == []
    session.absorb([value_of(second)])
    assert strategy.told == [0, 1, 2]
    assert len(session.plan(10)) == 3
    # A replay may lack scores that never came.
    session = Session(Chasing())
    session.replay(6, [value_of(trial) for trial in play(Session(Chasing()), 3)[:5]])
    assert (session.asked, session.told) == (6, 5)
    assert session.plan(10) == []
    # The limit does not change what is asked.
    for limit in (1, 2, 50):
        assert play(Session(Chasing()), limit) == play(Session(Chasing()), 3)


@table(*range(13))
def test_a_replayed_session_goes_on_where_the_other_was(asked):
    whole = play(Session(Chasing()), 1)
    scores = [value_of(trial) for trial in whole[:asked]]
    session = Session(Chasing())
    session.replay(asked, reversed(scores))
    assert session.asked == session.told == asked
    assert play(session, 1) == whole[asked:]


def test_a_small_round_is_given_whole_and_a_larger_one_waits_for_the_next_plan():
    whole, careful = Session(Chasing()), Session(Chasing())
    assert careful.plan_small(2) == []
    assert careful.asked == 0
    given = [*careful.plan(1), *careful.plan(5)]
    assert given == whole.plan(3)
    assert careful.plan(5) == careful.plan_small(5) == []  # it listens
    for session in (whole, careful):
        session.absorb(map(value_of, given))
    assert careful.plan_small(3) == whole.plan(3)


CASES = 20
PROMPTS = [{"name": name, "user": "{{question}}", "system": name} for name in "abc"]
COMMON = {"dataset": "sums", "scorers": ["exact"]}
ASKED = {"kind": "evaluate", "prompts": PROMPTS, "models": ["one/m"]}
EVALUATION = {**COMMON, **ASKED, "held_out": 0.25}
STEP = {"name": "s", "user": "{{question}}", "models": ["one/a", "one/b", "one/c"]}
CHOSEN = {"kind": "select", "steps": [STEP], "strategy": "brute_force"}
SELECTION = {**COMMON, **CHOSEN, "held_out": 5}
TWO_LEVEL = {**EVALUATION, "limits": {"schedule": "two_level"}, "repeats": 2}
BEST = 1  # the place of the candidate that is right most often
DOCUMENTS = [EVALUATION, TWO_LEVEL, SELECTION, {**SELECTION, "strategy": "arm_elimination"}]


def begin(document):
    return Session(read_configuration(document).begin(CASES))


def answered(session, trials, best=BEST):
    """The best is right everywhere, the others on every third case."""
    right = session.candidates[best].key
    known = {right, confirmation_key(right)}
    return [Score(t, value=float(t.candidate in known or t.case % 3 == 0)) for t in trials]


def play_to_the_end(session, at_once, best=BEST):
    scores: list[Score] = []
    while not session.is_finished:
        trials = session.plan(at_once)
        assert trials or session.unscored(), "it neither asks nor waits"
        fresh = answered(session, trials, best)
        session.absorb(reversed(fresh))
        scores += fresh
    return scores


@table(*product(DOCUMENTS, [1, 7, 1000]))
def test_the_best_is_scored_on_cases_that_nobody_was_ranked_by(document, at_once):
    session = begin(document)
    repeats = document.get("repeats", 1)
    scores = play_to_the_end(session, at_once)
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


@table(*DOCUMENTS)
def test_a_replay_stands_where_the_run_stood(document):
    scores = play_to_the_end(begin(document), 7)
    for told in range(0, len(scores) + 1, 3):
        again = begin(document)
        again.replay(told, scores[:told])
        rest = play_to_the_end(again, 7)
        assert [s.trial for s in rest] == [s.trial for s in scores[told:]]
        assert again.best == BEST


@table(*DOCUMENTS[:3])
def test_after_a_retry_that_makes_another_one_best_the_confirmation_is_another(document):
    scores = play_to_the_end(begin(document), 1000)
    session, other = begin(document), 2
    changed = answered(session, [s.trial for s in scores], other)
    session.replay(len(scores), changed)
    known = {one.key for one in session.candidates if one.role == EVALUATE}
    first = next(place for place, one in enumerate(scores) if one.trial.candidate not in known)
    assert session.first_difference(len(scores)) == first


def test_who_failed_all_but_one_trial_is_not_the_best():
    session = begin(EVALUATION)
    lucky = session.candidates[0].key
    trials = session.plan(100)
    seen = next(trial for trial in trials if trial.candidate == lucky)
    broken = [t for t in trials if t.candidate == lucky and t != seen]
    rest = [t for t in trials if t not in broken]
    scores = [Score(t, value=0.0 if t == rest[-1] else 1.0) for t in rest]
    session.absorb([*scores, *(Score(t, error="timeout") for t in broken)])
    assert (len(session.plan(1)), session.best) == (1, BEST)
    # Where nobody has a score there is nobody to confirm.
    session = begin(EVALUATION)
    while not session.is_finished:
        session.absorb([Score(trial, error="timeout") for trial in session.plan(100)])
    assert (session.asked, session.best, len(session.candidates)) == (45, None, 3)


def test_the_split_is_the_seeds_and_covers_every_case():
    split = split_cases(1000, 200, 7)
    assert sorted([*split.ranked, *split.held_out]) == list(range(1000))
    assert len(split.held_out) == 200
    assert split == split_cases(1000, 200, 7)
    assert split != split_cases(1000, 200, 8)
    assert abs(sum(split.held_out) / 200 - 499.5) < 75  # from everywhere, not from one end


@table((0.25, 5), (0.001, 1), (1, 1), (7, 7), (None, 0))
def test_a_share_or_a_number_of_cases_is_held_out(held_out, count):
    made = read_configuration({**EVALUATION, "held_out": held_out})
    assert made.count_held_out(CASES) == count
    assert made.count_ranked(CASES) == CASES - count
    assert isinstance(made.begin(CASES), Confirmed) == bool(count)


@table((0, "greater than 0"), (2.5, "whole number"))
def test_what_is_no_share_and_no_number_is_refused(held_out, told):
    assert told in str(problems_of({**EVALUATION, "held_out": held_out}))


@table(20, 500, 0.99)
def test_some_cases_must_be_left_to_rank_by(held_out):
    document = {**EVALUATION, "held_out": held_out}
    found = problems_beside(document, endpoints={"one": {}}, cases=CASES)
    assert "hold out at most 19" in found["held_out"]
