"""The rounds of each strategy: when the slots are split anew, and what is never asked again."""

from typing import Any

import pytest

from tests.engine.selecting import make_matrix, of_matrix, play, select
from workers.engine.chunks import Allocation
from workers.engine.kinds.select.rows import rounds_of
from workers.engine.records import Score, Trial
from workers.engine.strategies import SELECTIONS
from workers.engine.strategies.bayesian import Bayesian

EQUAL = make_matrix([0.5] * 9, 40, seed=2)  # of equal strength: hardly anybody leaves early
WHOLE = Allocation(1, 20)


@pytest.mark.parametrize(
    ("name", "options", "cases", "splits"),
    [
        pytest.param("brute_force", {}, [40], [WHOLE], id="once, the dataset"),
        pytest.param("random_search", {}, [40], [WHOLE], id="once, the dataset, for some"),
        pytest.param("hill_climbing", {}, [40, 40, 40], [WHOLE] * 3, id="every neighbour"),
        pytest.param("bayesian", {"sample_fraction": 0.9}, [40, 40, 40], [WHOLE] * 3, id="gp"),
        pytest.param(
            "arm_elimination",
            {"confidence": 9.0},
            [4, 8, 16, 12],
            [Allocation(5, 4), Allocation(2, 8), Allocation(1, 16), Allocation(1, 12)],
            id="every round",
        ),
        pytest.param(
            "threshold",
            {"confidence": 9.0},
            [4, 1, 1],
            [Allocation(5, 4), Allocation(9, 1), Allocation(9, 1)],
            id="the first cases, then one",
        ),
        pytest.param(
            "epsilon_lucb",
            {"n_initial": 7},
            [7, 1, 1],
            [Allocation(2, 7), Allocation(2, 1), Allocation(2, 1)],
            id="the first cases, then one of two",
        ),
    ],
)
def test_the_slots_are_split_by_the_cases_of_a_round(
    name: str, options: dict[str, Any], cases: list[int], splits: list[Allocation]
) -> None:
    strategy = select(name, EQUAL, **options)
    play(strategy, of_matrix(EQUAL))
    rounds = rounds_of(strategy, 20)[: len(cases)]
    assert [record.cases for record in rounds] == cases
    assert [record.split for record in rounds] == splits


def test_matrix_ucb_asks_each_cell_once_though_one_case_always_fails() -> None:
    strategy = select("matrix_ucb", make_matrix([0.5, 0.6, 0.7, 0.8], 10), share=1.0)

    def outcome(trial: Trial) -> Score:
        return Score(trial, error="refused") if trial.case == 3 else Score(trial, value=1.0)

    assert len(play(strategy, outcome)) == 40


def test_a_few_equal_answers_are_no_reason_to_stop() -> None:
    """Both are right twice; only later one of them turns out to be worse."""

    def outcome(trial: Trial) -> Score:
        return Score(trial, value=float(trial.position < 4 or trial.candidate == "1"))

    strategy = select("epsilon_lucb", make_matrix([0.5, 0.5], 30), n_initial=2)
    assert len(play(strategy, outcome)) > 4
    assert strategy.best == 1


def test_an_eliminated_arm_cannot_win_by_a_lucky_start() -> None:
    """The lucky one has the highest mean of all, of the few cases that it has seen."""
    matrix = make_matrix([0.5, 0.55, 0.6, 0.6, 0.65, 0.7, 0.7, 0.75, 0.75], 60, seed=4)
    for seed in range(20):
        strategy = select("arm_elimination", matrix, seed=seed)
        play(strategy, of_matrix(matrix))
        assert strategy.best in strategy.alive


def test_bayesian_says_what_it_expects_of_those_not_tried() -> None:
    matrix = make_matrix([0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9])
    strategy = select("bayesian", matrix, sample_fraction=0.8)
    assert isinstance(strategy, Bayesian)
    assert strategy.forecasts() == {}
    play(strategy, of_matrix(matrix))
    forecasts = strategy.forecasts()
    assert set(forecasts) == {arm for arm in range(9) if not strategy.board.count(arm)}
    assert all(one.deviation > 0 and one.improvement >= 0 for one in forecasts.values())


@pytest.mark.parametrize("name", SELECTIONS)
def test_everybody_says_when_to_use_it_and_what_its_options_do(name: str) -> None:
    strategy = SELECTIONS[name]
    assert strategy.label
    assert strategy.summary.endswith(".")
    assert all(field.title for field in strategy.options_type.model_fields.values())
    assert strategy.__doc__ != SELECTIONS[name].__mro__[1].__doc__
    assert (strategy.__doc__ or "").startswith(("For ", "The "))
    assert all(field.description for field in strategy.options_type.model_fields.values())
