"""What is told of a choice: rounds, rows, layers, the front, rivals, and what was saved."""

import csv
from io import StringIO
from itertools import product

import pytest

from tests.engine.test_selections import make_matrix, of_matrix, play, select
from tests.harness.table import row, table
from workers.engine.chunks import Allocation
from workers.engine.kinds.select.layers import MOST_ROWS, last_steps, layers_of
from workers.engine.kinds.select.report import aim_text, report_of
from workers.engine.kinds.select.rows import Tokens, rounds_of, rows_of
from workers.engine.kinds.select.table_csv import csv_of
from workers.engine.records import Candidate, Score, Trial
from workers.engine.session import Session
from workers.engine.statistics.matrices import Matrix
from workers.engine.strategies import SELECTIONS
from workers.engine.strategies.options import Objective

WORSE_AND_WORSE = [0.95, 0.9, 0.6, 0.4, 0.2, 0.1, 0.1, 0.1, 0.1]


def played(name, matrix, **options):
    strategy = select(name, matrix, **options)
    play(strategy, of_matrix(matrix))
    return strategy


def report(strategy, objective=None):
    rows, rounds = rows_of(strategy), rounds_of(strategy, 20)
    told = {"evaluations": sum(row.n for row in rows), "objective": objective}
    return report_of(strategy, rows, rounds, name="any", **told)


def priced(latency_ms, cost, objective=None):
    """Everybody is always right, at a price and a latency of their own."""
    names = list(latency_ms)
    matrix = Matrix("made", tuple(f"agent={name}" for name in names), ((1.0,) * 5,) * len(cost))
    strategy = select("brute_force", matrix, objective=objective)

    def outcome(trial: Trial) -> Score:
        name = names[int(trial.candidate)]
        return Score(trial, value=1.0, latency_ms=latency_ms[name], full_cost=cost[name])

    play(strategy, outcome)
    return strategy


def test_layers_compare_everybody_on_the_cases_that_all_of_them_saw():
    strategy = played("arm_elimination", make_matrix(WORSE_AND_WORSE, datapoints=100))
    *earlier, last = layers = layers_of(strategy)
    counts = sorted({row.n for row in rows_of(strategy)})
    assert [layer.n for layer in layers] == counts
    assert len(counts) > 1
    for layer in layers:
        assert {row.measured.n for row in layer.rows} == {layer.n}
    assert len(layers[0].rows) == 9
    assert sum(len(layer.eliminated) for layer in layers) == 9 - len(last.rows)
    assert not any(row.is_best for layer in earlier for row in layer.rows)
    assert [row.is_best for row in last.rows].count(True) == 1


def test_a_layer_measures_the_first_cases_anew():
    same = played("brute_force", make_matrix([1.0, 0.0]))
    assert layers_of(same) == []  # all saw as many: the plain table says it all
    strategy = played("threshold", make_matrix([0.95, 0.72, 0.1], datapoints=60))
    layer = layers_of(strategy)[0]
    for one in layer.rows:
        arm = next(i for i, c in enumerate(strategy.candidates) if c.key == one.key)
        values = [sample.value or 0.0 for sample in strategy.board.samples[arm][: layer.n]]
        assert one.measured.accuracy == pytest.approx(sum(values) / layer.n)
    # Those of thousands of combinations stay within bounds.
    counts = list(range(1, 3001))
    kept = last_steps(counts, counts)
    assert kept[-1] == 3000
    assert sum(sum(count >= n for count in counts) for n in kept) <= MOST_ROWS
    assert last_steps([20, 60], [20] * 20_000 + [60]) == [20, 60]


def test_only_who_saw_most_is_on_the_front_and_fewer_are_alive_after_each_round():
    found = report(played("arm_elimination", make_matrix(WORSE_AND_WORSE, datapoints=100)))
    most = max(row.n for row in found.rows)
    assert {row.n for row in found.rows if row.on_front} == {most}
    assert all(row.saw_most == (row.n == most) for row in found.rows)
    assert found.rows[0].is_best
    assert found.rows[0].on_front
    alive = [record.alive for record in found.rounds]
    assert alive == sorted(alive, reverse=True)
    assert alive[-1] == found.alive == 9 - found.eliminated


def test_the_front_is_of_quality_latency_and_price():
    prices = {"quick": 0.5, "cheap": 0.1, "neither": 0.6, "unpriced": None}
    strategy = priced({"quick": 10, "cheap": 90, "neither": 95, "unpriced": 50}, prices)
    front = {row.choices["agent"] for row in rows_of(strategy) if row.on_front}
    assert front == {"quick", "cheap"}  # the unpriced one is slower than the quick one


def test_in_the_middle_of_a_round_those_who_wait_for_their_turn_are_still_compared():
    matrix = make_matrix([0.9, 0.8, 0.7], datapoints=20)
    strategy = select("brute_force", matrix)
    session, outcome = Session(strategy), of_matrix(matrix)
    trials = session.plan(1000)
    session.absorb(map(outcome, trials[:31]))  # 11, 10 and 10 cases
    assert [row.saw_most for row in rows_of(strategy)] == [True] * 3
    ahead = {row.name: row.n for row in rows_of(strategy)}
    means = {row.name: row.accuracy for row in rows_of(strategy)}
    assert ahead["agent=0"] == 11
    assert rows_of(strategy)[0].accuracy == max(means.values(), key=lambda mean: mean or 0.0)
    early = [outcome(trial) for trial in trials[40:43]]
    assert sum(row.n for row in rows_of(strategy, early)) == 34
    # Who was given up is not compared with those of the next round.
    matrix = make_matrix(WORSE_AND_WORSE, datapoints=100)
    strategy, outcome = select("arm_elimination", matrix), of_matrix(matrix)
    session = Session(strategy)
    session.absorb(map(outcome, session.plan(1000)))
    second = session.plan(1000)
    session.absorb(map(outcome, second[: len(second) // 2]))
    for one in rows_of(strategy):
        assert one.saw_most == (one.eliminated_in is None)


def test_a_winner_that_is_hardly_better_is_said_not_to_be_separable():
    close = report(played("brute_force", make_matrix([0.8, 0.79, 0.1], datapoints=60)))
    [rival] = close.rivals
    assert rival.low <= 0 <= rival.high
    assert rival.n == 60
    assert rival.overlap_low < rival.overlap_high
    clear = report(played("brute_force", make_matrix([0.95, 0.2], datapoints=60)))
    assert clear.rivals == []
    # Nor from those that it was hardly compared with: each of ten equal ones is chosen by luck.
    for strategy, seed in product(("matrix_ucb", "epsilon_lucb", "brute_force"), range(5)):
        equal = report(played(strategy, make_matrix([0.7] * 10, datapoints=100, seed=seed)))
        assert equal.rivals, (strategy, seed)


def test_it_is_said_when_a_price_that_has_a_weight_does_not_count():
    told = priced({"a": 1, "b": 1}, {"a": 0.1, "b": None}, Objective(lambda_cost=0.5))
    found = report(told, Objective(lambda_cost=0.5))
    assert (found.aim, found.ignores_price) == ("accuracy", True)
    assert not report(told).ignores_price


def test_nobody_wins_where_nobody_answers_and_prices_are_estimated_where_known():
    found = report(played("brute_force", make_matrix([0.5, 0.5], failed=1.0)))
    assert found.best is None
    assert found.rivals == []
    assert not any(row.on_front and row.accuracy for row in found.rows)
    # Brute force is estimated at the measured prices.
    found = report(priced({"a": 1, "b": 1, "c": 1}, {"a": 0.1, "b": 0.3, "c": None}))
    assert found.brute_force == 15
    assert found.brute_force_dollars == pytest.approx(5 * (0.1 + 0.3 + 0.2))
    assert report(priced({"a": 1}, {"a": None})).brute_force_dollars is None


@table(
    (Objective(), "accuracy"),
    (Objective(lambda_cost=0.2), "accuracy − 0.2 × price"),
    (Objective(lambda_cost=1, lambda_latency=0.5), "accuracy − 1 × price − 0.5 × latency"),
)
def test_what_the_bounds_are_of_is_said(objective, text):
    assert aim_text(objective) == text


def test_the_csv_has_the_columns_of_other_selectors_and_no_formulas():
    strategy = priced({"=1+1": 1000, "b": 1}, {"=1+1": 0.1, "b": 0.3})
    strategy.candidates[0] = Candidate("0", "=1+1", {"choices": {"agent": "=1+1"}})
    text = csv_of(rows_of(strategy, tokens={"0": Tokens(7, 8)}))
    [evil] = [row for row in csv.DictReader(StringIO(text)) if row["model_name"] == "'=1+1"]
    told = {"latency_seconds": "1.0", "input_tokens": "7", "output_tokens": "8", "price": "0.1"}
    assert evil.items() >= {**told, "agent": "'=1+1"}.items()
    names = ["model_name", "accuracy", *told, "attribute", "is_best"]
    assert text.startswith(",".join(names) + ",")


SURE = {"confidence": 9.0}
EQUAL = make_matrix([0.5] * 9, 40, seed=2)  # of equal strength: hardly anybody leaves early


@table(
    row("brute_force", {}, [40], [(1, 20)], id="once, the dataset"),
    row("random_search", {}, [40], [(1, 20)], id="once, the dataset, for some"),
    row("hill_climbing", {}, [40] * 3, [(1, 20)] * 3, id="every neighbour"),
    row("bayesian", {"sample_fraction": 0.9}, [40] * 3, [(1, 20)] * 3, id="gp"),
    row("arm_elimination", SURE, [4, 8, 16, 12], [(5, 4), (2, 8), (1, 16), (1, 12)], id="rounds"),
    row("threshold", SURE, [4, 1, 1], [(5, 4), (9, 1), (9, 1)], id="the first cases, then one"),
    row("epsilon_lucb", {"n_initial": 7}, [7, 1, 1], [(2, 7), (2, 1), (2, 1)], id="one of two"),
)
def test_the_slots_are_split_by_the_cases_of_a_round(name, options, cases, splits):
    rounds = rounds_of(played(name, EQUAL, **options), 20)[: len(cases)]
    assert [record.cases for record in rounds] == cases
    assert [record.split for record in rounds] == [Allocation(*split) for split in splits]


def test_matrix_ucb_asks_each_cell_once_though_one_case_always_fails():
    strategy = select("matrix_ucb", make_matrix([0.5, 0.6, 0.7, 0.8], 10), share=1.0)

    def outcome(trial: Trial) -> Score:
        return Score(trial, error="refused") if trial.case == 3 else Score(trial, value=1.0)

    assert len(play(strategy, outcome)) == 40


def test_a_few_equal_answers_are_no_reason_to_stop():
    """Both are right twice; only later one of them turns out to be worse."""

    def outcome(trial: Trial) -> Score:
        return Score(trial, value=float(trial.position < 4 or trial.candidate == "1"))

    strategy = select("epsilon_lucb", make_matrix([0.5, 0.5], 30), n_initial=2)
    assert len(play(strategy, outcome)) > 4
    assert strategy.best == 1


def test_bayesian_says_what_it_expects_of_those_not_tried():
    matrix = make_matrix([0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9])
    strategy = select("bayesian", matrix, sample_fraction=0.8)
    assert strategy.forecasts() == {}
    play(strategy, of_matrix(matrix))
    forecasts = strategy.forecasts()
    assert set(forecasts) == {arm for arm in range(9) if not strategy.board.count(arm)}
    assert all(one.deviation > 0 and one.improvement >= 0 for one in forecasts.values())
    assert report(strategy).forecasts.keys() == forecasts.keys() != set()
    assert report(played("brute_force", make_matrix([0.9, 0.1]))).forecasts == {}


@table(*SELECTIONS)
def test_everybody_says_when_to_use_it_and_what_its_options_do(name):
    strategy = SELECTIONS[name]
    assert strategy.label
    assert strategy.summary.endswith(".")
    assert strategy.__doc__ != strategy.__mro__[1].__doc__
    assert (strategy.__doc__ or "").startswith(("For ", "The "))
    fields = strategy.options_type.model_fields.values()
    assert all(field.title and field.description for field in fields)
