"""What is best: by weights, as published, or by a front that nobody is pushed out of unfairly."""

import pytest

from tests.engine.selecting import Outcome, board_of, make_matrix, of_matrix, play, scored
from workers.engine.records import Score, Trial
from workers.engine.strategies import SELECTIONS, build_selection
from workers.engine.strategies.board import Span
from workers.engine.strategies.options import Objective

PARETO = Objective(mode="pareto")
ACCURACIES = [0.3, 0.4, 0.5, 0.6, 0.7, 0.9]
MATRIX = make_matrix(ACCURACIES, 60)
keeps_front = pytest.mark.parametrize(
    "name", [name for name, strategy in SELECTIONS.items() if strategy.keeps_front]
)


@pytest.mark.parametrize(
    ("value", "low", "high", "place"),
    [(2, 1, 5, 0.25), (1, 1, 5, 0.0), (5, 1, 5, 1.0), (3, 3, 3, 0.0), (None, 1, 5, 1.0)],
)
def test_a_value_is_put_between_the_least_and_the_most_seen(
    value: float | None, low: float, high: float, place: float
) -> None:
    """Where all are equal it does not matter; what is unknown is never better than the worst."""
    assert Span(low, high).place(value) == place


@pytest.mark.parametrize(
    ("cost", "latency", "sample", "worth"),
    [
        pytest.param(0.5, 0.5, scored(1.0, 3.0, 0.003), 0.5, id="half way in both"),
        pytest.param(0.3, 0.2, scored(1.0, 5.0, 0.005), 0.5, id="the dearest and slowest"),
        pytest.param(0.5, 0.5, scored(1.0, 1.0, 0.001), 1.0, id="the cheapest and fastest"),
        pytest.param(0.0, 0.0, scored(1.0, 5.0, 0.005), 1.0, id="quality alone"),
    ],
)
def test_a_sample_is_worth_its_quality_less_what_it_cost(
    cost: float, latency: float, sample: Score, worth: float
) -> None:
    objective = Objective(lambda_cost=cost, lambda_latency=latency)
    ends = [scored(0.0, 1.0, 0.001), scored(0.0, 5.0, 0.005)]
    board = board_of(ends, [sample], objective=objective)
    assert board.mean(1) == pytest.approx(worth)
    board.settle()  # once more changes nothing
    assert board.mean(1) == pytest.approx(worth)


def test_samples_are_weighed_anew_when_a_later_one_is_dearer() -> None:
    board = board_of([scored(1.0, cost=1.0)], objective=Objective(lambda_cost=1.0))
    assert board.mean(0) == 1.0  # alone it is neither dear nor cheap
    board.add(0, scored(1.0, cost=3.0))
    board.settle()
    assert board.worth(0) == [1.0, 0.0]


def with_latencies(latencies: list[float], costs: list[float] | None = None) -> Outcome:
    usual = of_matrix(MATRIX)

    def outcome(trial: Trial) -> Score:
        arm = int(trial.candidate)
        score = usual(trial)
        cost = costs[arm] if costs else 0.1
        return Score(trial, value=score.value, latency_ms=latencies[arm], full_cost=cost)

    return outcome


@keeps_front
def test_under_pareto_the_faster_is_kept_though_it_is_worse(name: str) -> None:
    """Arm 0 is by far the worst and the fastest; arm 1 is worse than others that are as fast."""
    latencies = [1.0, 50.0, 50.0, 50.0, 50.0, 50.0]
    options = {"sample_fraction": 1.0} if name == "random_search" else {}
    strategy = build_selection(
        name, MATRIX.candidates(), 60, seed=3, options=options, objective=PARETO
    )
    play(strategy, with_latencies(latencies))
    assert strategy.front == [0, 5]
    assert strategy.best == 5
    assert 0 not in strategy.eliminations


@pytest.mark.parametrize("name", ["arm_elimination", "paired_elimination"])
def test_under_pareto_nobody_leaves_for_a_dearer_one(name: str) -> None:
    costs = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]  # the better, the dearer: all are on the front
    candidates = MATRIX.candidates()
    strategy = build_selection(name, candidates, 60, seed=3, objective=PARETO)
    play(strategy, with_latencies([10.0] * 6, costs))
    assert not strategy.eliminations
    assert len(strategy.front) == len({sum(map(float, filter(None, r))) for r in MATRIX.scores})
    alone = build_selection(name, candidates, 60, seed=3)
    play(alone, with_latencies([10.0] * 6, costs))
    assert alone.alive == [5]


@keeps_front
def test_the_winner_is_on_the_front(name: str) -> None:
    for seed in range(5):
        strategy = build_selection(name, MATRIX.candidates(), 60, seed=seed, objective=PARETO)
        play(strategy, with_latencies([60.0, 50.0, 40.0, 30.0, 20.0, 30.0]))
        assert strategy.best in strategy.front


@pytest.mark.parametrize(
    "name", [name for name, strategy in SELECTIONS.items() if not strategy.keeps_front]
)
def test_who_looks_for_one_number_refuses_pareto(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} looks for the best by one number"):
        build_selection(name, MATRIX.candidates(), 60, objective=PARETO)
