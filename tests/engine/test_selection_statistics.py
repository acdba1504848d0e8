"""What a choice rests on: failures, intervals, ties, prices, equal data, fronts."""

import math

import pytest

from tests.engine.test_selections import make_matrix, of_matrix, play, select
from tests.harness.table import row, table
from workers.engine.records import Candidate, Score, Trial
from workers.engine.statistics.matrices import Matrix
from workers.engine.strategies import SELECTIONS, build_selection
from workers.engine.strategies.allowance import Allowance
from workers.engine.strategies.board import Board, Span
from workers.engine.strategies.gaussian_process import GaussianProcess
from workers.engine.strategies.intervals import interval_of, paired_variance
from workers.engine.strategies.options import Objective


def board_of(*arms, objective=None, failures="wrong"):
    board = Board(len(arms), objective or Objective(), failures)
    for arm, scores in enumerate(arms):
        for score in scores:
            board.add(arm, score)
    board.settle()
    return board


TRIAL = Trial(0, "", 0, 0)


def scored(value, latency_ms=10.0, cost=0.1, trial=TRIAL):
    if value is None:
        return Score(trial, error="refused")
    return Score(trial, value=value, latency_ms=latency_ms, full_cost=cost)


def test_a_failure_counts_as_wrong_unless_left_out_and_wins_nothing():
    board = board_of([scored(1.0)] + [scored(None)] * 19, [scored(1.0)] * 19 + [scored(0.0)])
    assert board.mean(0) == pytest.approx(1 / 20)
    assert board.choose([0, 1]) == 1
    board = board_of([scored(1.0), scored(None), scored(0.0)], failures="dropped")
    assert (board.mean(0), board.count(0)) == (0.5, 3)
    board = board_of([scored(None), scored(0.0, 50.0)], [scored(0.0, 20.0), scored(0.0, 20.0)])
    assert board.choose([0, 1]) == 1
    board = board_of([scored(None)] * 3, [scored(0.0, cost=0.5), scored(0.0, cost=0.1)])
    assert board.choose([0, 1]) == 1
    dear = Objective(lambda_cost=1.0)
    weighed = board_of([scored(None)] * 2, [scored(0.0), scored(0.0)], objective=dear)
    assert weighed.mean(0) <= weighed.mean(1)


def test_intervals_are_the_published_ones_and_always_have_a_width():
    found = interval_of([0.0, 1.0, 1.0, 1.0], 2.0)
    assert found.mean == 0.75
    assert found.half == pytest.approx(2.0 * 0.5 / math.sqrt(4))
    assert interval_of([0.3], 1.0).half == 0.5
    assert interval_of([], 1.0).high == math.inf
    for values in ([1.0], [1.0, 1.0], [0.0] * 50, [0.7, 0.7]):
        assert interval_of(values, 1.0).half > 0
        assert paired_variance(values, values, 0.0) > 0


@table(
    row(scored(1.0, 90.0), scored(1.0, 20.0), 1, id="the faster"),
    row(scored(1.0, 20.0, 0.2), scored(1.0, 20.0, 0.1), 1, id="then the cheaper"),
    row(scored(1.0, 20.0, None), scored(1.0, 20.0, 0.9), 1, id="unknown is no price"),
    row(scored(1.0), scored(1.0), 0, id="then the first"),
)
def test_ties_go_to(slow, fast, winner):
    assert board_of([slow], [fast]).choose([0, 1]) == winner


def test_price_and_latency_weigh_as_much_as_is_said():
    dear, cheap = [scored(0.9, 10.0, 1.0)] * 3, [scored(0.8, 10.0, 0.0)] * 3
    assert board_of(dear, cheap).choose([0, 1]) == 0
    assert board_of(dear, cheap, objective=Objective(lambda_cost=0.5)).choose([0, 1]) == 1
    slow, quick = [scored(0.9, 500.0)] * 3, [scored(0.8, 10.0)] * 3
    assert board_of(slow, quick, objective=Objective(lambda_latency=0.5)).choose([0, 1]) == 1
    # Samples are weighed anew when a later one is dearer.
    board = board_of([scored(1.0, cost=1.0)], objective=Objective(lambda_cost=1.0))
    assert board.mean(0) == 1.0  # alone it is neither dear nor cheap
    board.add(0, scored(1.0, cost=3.0))
    board.settle()
    assert board.worth(0) == [1.0, 0.0]
    # A model without a price is neither dear nor cheap: no price counts then.
    dear, cheap, unknown = ([scored(0.9, 10.0, price)] * 3 for price in (1.0, 0.0, None))
    board = board_of(dear, cheap, unknown, objective=Objective(lambda_cost=0.5))
    assert [board.mean(arm) for arm in range(3)] == pytest.approx([0.9] * 3)
    assert board.ignores_price


def test_arms_are_compared_on_the_cases_that_all_of_them_have_seen():
    board = board_of([scored(1.0)], [scored(1.0), scored(1.0), scored(0.0)])
    assert board.choose([0, 1], on_equal_data=False) == 0
    fast = board_of([scored(1.0, 50.0)], [scored(1.0, 5.0), scored(1.0, 5.0), scored(0.0, 5.0)])
    assert fast.choose([0, 1]) == 1  # a tie on the first case, and faster


def test_rounds_of_arm_elimination_grow_and_those_of_matrix_ucb_spread():
    same = Matrix("same", tuple("ab"), (tuple([0.0, 1.0] * 100),) * 2)
    strategy = select("arm_elimination", same)
    play(strategy, of_matrix(same))
    assert [record.cases for record in strategy.history] == [20, 40, 80, 60]
    # Matrix ucb spreads a round over candidates.
    matrix = make_matrix([0.5] * 9)
    strategy = select("matrix_ucb", matrix, batch=18)
    play(strategy, of_matrix(matrix))
    assert (strategy.history[0].arms, strategy.history[0].cases) == (9, 2)


def test_pairs_tell_apart_what_intervals_cannot_and_no_equals():
    """One is always a little better, on items that differ a lot."""
    hard = [item / 40 for item in range(40)]
    matrix = Matrix("pairs", ("agent=a", "agent=b"), (tuple(hard), tuple(x - 0.2 for x in hard)))
    paired = select("paired_elimination", matrix, confidence=2.33)
    alone = select("arm_elimination", matrix, confidence=2.33)
    assert len(play(paired, of_matrix(matrix))) < len(play(alone, of_matrix(matrix)))
    assert paired.best == 0
    assert "0.200 worse than agent=a on the same" in paired.eliminations[1].why
    # Equal candidates are not told apart by chance.
    matrix = Matrix("twins", ("agent=a", "agent=b"), ((1.0, 0.0) * 20,) * 2)
    strategy = select("paired_elimination", matrix)
    play(strategy, of_matrix(matrix))
    assert strategy.alive == [0, 1]


def test_hill_climbing_tries_first_what_did_well_in_that_step():
    """After one climb the large solver is known to be good: the next start goes there at once."""
    worth = {"small": 0.1, "medium": 0.2, "large": 0.9}
    pairs = [{"planner": planner, "solver": solver} for planner in "abc" for solver in worth]
    candidates = [Candidate(str(n), str(n), {"choices": pair}) for n, pair in enumerate(pairs)]

    def outcome(trial):
        return scored(worth[pairs[int(trial.candidate)]["solver"]], 1.0, trial=trial)

    options = {"num_restarts": 2, "max_iterations": 3}
    for seed in range(10):
        strategy = build_selection("hill_climbing", candidates, 2, seed=seed, options=options)
        tried = {trial.candidate for trial in play(strategy, outcome)}
        assert strategy.best is not None
        assert pairs[strategy.best]["solver"] == "large"
        assert len(tried) < len(candidates)


def test_a_gaussian_process_trusts_what_is_alike_and_doubts_what_is_not():
    def distance(one, other):
        return sum(x != y for x, y in zip(one, other, strict=True))

    process = GaussianProcess([(0, 0), (0, 1)], [1.0, 0.0], distance)
    near, far = process.predict((0, 0)), process.predict((5, 5))
    assert near.mean > 0.9
    assert near.deviation < far.deviation
    assert far.mean == pytest.approx(0.5)


@table(*range(5))
def test_the_allowance_is_what_arm_elimination_spends(seed):
    """Played on a board where everything is known, look by look."""
    matrix = make_matrix([0.4, 0.5, 0.6, 0.65, 0.7, 0.7, 0.75, 0.8, 0.8], 100, seed=seed)
    dropped = select("arm_elimination", matrix, failures="dropped", winner="anyone")
    spent = len(play(dropped, of_matrix(matrix)))
    everything = select("brute_force", matrix)
    play(everything, of_matrix(matrix))
    allowance = Allowance(everything.board, 9, 100)
    assert allowance.at(9) is None  # before its first look there is nothing to compare with
    assert allowance.at(10) == 90
    assert allowance.at(100) == spent


PARETO = Objective(mode="pareto")
ACCURACIES = [0.3, 0.4, 0.5, 0.6, 0.7, 0.9]
MATRIX = make_matrix(ACCURACIES, 60)


@table((2, 1, 5, 0.25), (1, 1, 5, 0.0), (5, 1, 5, 1.0), (3, 3, 3, 0.0), (None, 1, 5, 1.0))
def test_a_value_is_put_between_the_least_and_the_most_seen(value, low, high, place):
    """Where all are equal it does not matter; what is unknown is never better than the worst."""
    assert Span(low, high).place(value) == place


@table(
    row(0.5, 0.5, scored(1.0, 3.0, 0.003), 0.5, id="half way in both"),
    row(0.3, 0.2, scored(1.0, 5.0, 0.005), 0.5, id="the dearest and slowest"),
    row(0.5, 0.5, scored(1.0, 1.0, 0.001), 1.0, id="the cheapest and fastest"),
    row(0.0, 0.0, scored(1.0, 5.0, 0.005), 1.0, id="quality alone"),
)
def test_a_sample_is_worth_its_quality_less_what_it_cost(cost, latency, sample, worth):
    objective = Objective(lambda_cost=cost, lambda_latency=latency)
    ends = [scored(0.0, 1.0, 0.001), scored(0.0, 5.0, 0.005)]
    board = board_of(ends, [sample], objective=objective)
    assert board.mean(1) == pytest.approx(worth)
    board.settle()  # once more changes nothing
    assert board.mean(1) == pytest.approx(worth)


def with_latencies(latencies, costs=(0.1,) * 6):
    def outcome(trial):
        arm = int(trial.candidate)
        return scored(MATRIX.scores[arm][trial.case], latencies[arm], costs[arm], trial)

    return outcome


def chosen(name, outcome, seed=3, objective=PARETO, **options):
    given = {"seed": seed, "options": options, "objective": objective}
    strategy = build_selection(name, MATRIX.candidates(), 60, **given)
    play(strategy, outcome)
    return strategy


@table(*(name for name, strategy in SELECTIONS.items() if strategy.keeps_front))
def test_the_front_keeps_the_faster_though_it_is_worse_and_holds_the_winner(name):
    """Arm 0 is by far the worst and the fastest; arm 1 is worse than others that are as fast."""
    options = {"sample_fraction": 1.0} if name == "random_search" else {}
    strategy = chosen(name, with_latencies([1.0, *[50.0] * 5]), **options)
    assert (strategy.front, strategy.best) == ([0, 5], 5)
    assert 0 not in strategy.eliminations
    for seed in range(5):
        strategy = chosen(name, with_latencies([60.0, 50.0, 40.0, 30.0, 20.0, 30.0]), seed)
        assert strategy.best in strategy.front


@table("arm_elimination", "paired_elimination")
def test_under_pareto_nobody_leaves_for_a_dearer_one(name):
    costs = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]  # the better, the dearer: all are on the front
    outcome = with_latencies([10.0] * 6, costs)
    strategy = chosen(name, outcome)
    assert not strategy.eliminations
    assert len(strategy.front) == len({sum(map(float, filter(None, r))) for r in MATRIX.scores})
    assert chosen(name, outcome, objective=Objective()).alive == [5]


@table(*[name for name, strategy in SELECTIONS.items() if not strategy.keeps_front])
def test_who_looks_for_one_number_refuses_pareto(name):
    with pytest.raises(ValueError, match=f"{name} looks for the best by one number"):
        build_selection(name, MATRIX.candidates(), 60, objective=PARETO)
