"""One contract for all strategies that choose among candidates, without any calls."""

from itertools import product
from random import Random

from tests.harness.table import table
from workers.engine.records import Score, Trial
from workers.engine.session import Session
from workers.engine.statistics.matrices import Matrix
from workers.engine.strategies import SELECTIONS, build_selection
from workers.engine.strategies.rounds import REHEARSED, rehearse

MODELS = ("small", "medium", "large")


def make_matrix(accuracies, datapoints=40, failed=0.0, seed=1):
    """Answers that are right as often as asked for, on items that are equally hard for all."""
    random = Random(seed)
    hardness = [random.random() for _ in range(datapoints)]

    def cell(accuracy, hard):
        if random.random() < failed:
            return None
        return float(0.7 * hard + 0.3 * random.random() < accuracy)

    rows = tuple(tuple(cell(accuracy, hard) for hard in hardness) for accuracy in accuracies)
    labels = [f"planner={one} + solver={other}" for one in MODELS for other in MODELS]
    if len(accuracies) != len(labels):
        labels = [f"agent={number}" for number in range(len(accuracies))]
    return Matrix("made", tuple(labels), rows)


def of_matrix(matrix):
    def outcome(trial):
        value = matrix.scores[int(trial.candidate)][trial.case]
        error = "refused" if value is None else ""
        return Score(trial, value=value, error=error, latency_ms=None if error else 10.0)

    return outcome


def select(name, matrix, seed=3, objective=None, **options):
    given = {"seed": seed, "objective": objective, "options": options}
    return build_selection(name, matrix.candidates(), matrix.datapoints, **given)


def play(strategy, outcome, limit=1000, is_backwards=False):
    """Every trial it asked for, to the end."""
    session = Session(strategy)
    played = []
    while trials := session.plan(limit):
        scores = [outcome(trial) for trial in trials]
        session.absorb(reversed(scores) if is_backwards else scores)
        played += trials
    assert session.is_finished
    return played


ACCURACIES = [0.2, 0.3, 0.35, 0.4, 0.5, 0.55, 0.6, 0.7, 0.95]
MATRIX = make_matrix(ACCURACIES, failed=0.05)

every_strategy = table(*SELECTIONS)


def refused(trial):
    return Score(trial, error="refused")


@table(*product(SELECTIONS, [1, 7, 100]))
def test_the_same_seed_asks_the_same_trials_in_parallel_as_one_by_one(name, limit):
    """Whatever is asked at once and whichever answer comes first; and none is asked twice."""
    alone, many = select(name, MATRIX), select(name, MATRIX)
    trials = play(alone, of_matrix(MATRIX), limit=1)
    assert play(many, of_matrix(MATRIX), limit=limit, is_backwards=True) == trials
    assert (many.best, many.eliminations) == (alone.best, alone.eliminations)
    assert [trial.position for trial in trials] == list(range(len(trials)))
    assert len({trial[1:] for trial in trials}) == len(trials)


@every_strategy
def test_a_round_is_given_out_whole_before_any_of_it_is_told(name):
    strategy = select(name, MATRIX)
    session = Session(strategy)
    asked = 0
    while trials := session.plan(3):
        asked += len(trials)
    assert asked == strategy.history[0].trials
    assert asked == sum(pull.cases for pull in select(name, MATRIX).next_pulls())


@every_strategy
def test_it_ends_whatever_fails_and_nothing_wins_that_always_does(name):
    strategy, usual = select(name, MATRIX), of_matrix(MATRIX)
    assert len(play(strategy, refused)) <= len(ACCURACIES) * MATRIX.datapoints
    assert strategy.best is None
    strategy = select(name, MATRIX)
    play(strategy, lambda trial: refused(trial) if trial.case % 4 == 0 else usual(trial))
    assert strategy.best is not None

    def outcome(trial):
        """All others are always wrong, and the failing one is never slow."""
        return refused(trial) if trial.candidate == "4" else Score(trial, value=0.0, latency_ms=50)

    strategy = select(name, make_matrix([0.0] * 9))
    play(strategy, outcome)
    assert strategy.best not in (None, 4)


@table(*product(SELECTIONS, [0.2, 0.5, 0.9]))
def test_it_goes_on_by_replay_where_it_was(name, share):
    whole = select(name, MATRIX)
    trials = play(whole, of_matrix(MATRIX), limit=5)
    known = trials[: int(len(trials) * share)]
    again = select(name, MATRIX)
    session = Session(again)
    session.replay(len(known), [of_matrix(MATRIX)(trial) for trial in reversed(known)])
    rest: list[Trial] = []
    while asked := session.plan(5):
        session.absorb(map(of_matrix(MATRIX), asked))
        rest += asked
    assert [*known, *rest] == trials
    assert (again.best, again.eliminations) == (whole.best, whole.eliminations)


@every_strategy
def test_the_budget_is_kept_repeats_are_more_cases_and_who_goes_is_told_why(name):
    assert len(play(select(name, MATRIX, budget=50), of_matrix(MATRIX))) <= 50
    twice = build_selection(name, MATRIX.candidates(), 10, repeats=2, seed=3)
    trials = play(twice, of_matrix(MATRIX))
    assert {trial.case for trial in trials} <= set(range(10))
    assert len({trial[1:] for trial in trials}) == len(trials)
    # Who is given up says why and when, and the winner is none of them.
    matrix = make_matrix([0.3, 0.4, 0.5, 0.5, 0.55, 0.6, 0.6, 0.85, 0.9], failed=0.1)
    options = {"threshold": 0.5} if name == "threshold" else {}
    for seed in range(10):
        strategy = select(name, matrix, seed=seed, **options)
        play(strategy, of_matrix(matrix))
        assert strategy.best in strategy.alive
        assert set(range(9)) - set(strategy.alive) == set(strategy.eliminations)
        for elimination in strategy.eliminations.values():
            assert elimination.why.endswith(".")
            assert 0 <= elimination.round <= len(strategy.history)


@table(*product(SELECTIONS, [1, 20]))
def test_a_candidate_without_rivals_is_measured(name, cases):
    strategy = build_selection(name, MATRIX.candidates()[8:9], cases)
    play(strategy, lambda trial: Score(trial, value=1.0, latency_ms=1.0))
    assert (strategy.best, strategy.eliminations) == (0, {})


@table("brute_force", "arm_elimination", "paired_elimination", "matrix_ucb", "epsilon_lucb")
def test_a_clear_winner_is_found(name):
    strategy = select(name, MATRIX, confidence=2.0)
    play(strategy, of_matrix(MATRIX))
    assert strategy.best == 8


@every_strategy
def test_latencies_do_not_change_what_is_asked(name):
    """They differ from one execution to the next; only the last tie is theirs to break."""
    ties = make_matrix([0.5] * 9, datapoints=20)

    def with_latency(fastest):
        def outcome(trial):
            value = ties.scores[int(trial.candidate) % 3][trial.case]
            return Score(trial, value=value, latency_ms=abs(int(trial.candidate) - fastest) + 1.0)

        return play(select(name, ties), outcome)

    assert with_latency(0) == with_latency(8)


def test_rounds_are_counted_by_playing_against_tosses():
    matrix = make_matrix([0.5] * 8)
    assert rehearse(select("brute_force", matrix), 320) == [320]
    rounds = rehearse(select("epsilon_lucb", matrix), 320)
    assert rounds[0] == 8
    assert set(rounds[1:]) == {2}, "the best and who may be better, again and again"
    large = make_matrix([0.5] * 4, datapoints=3 * REHEARSED)
    assert sum(rehearse(select("matrix_ucb", large), 12 * REHEARSED)) > 11 * REHEARSED
