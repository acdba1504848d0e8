"""Suites with bars: how they judge, what they choose and measure, their pages; bench_select."""

import json
from functools import partial

import pytest
from django.core.management import CommandError
from django.urls import reverse

from runs.benchmarking.evolution.rows import EVOLUTION_ROWS, Evolved, unaccounted
from runs.benchmarking.evolution.work import balanced, evolution_work, one_at_a_time, slots
from runs.benchmarking.limits import judging
from runs.benchmarking.limits.bars import at_least, at_most, exactly
from runs.benchmarking.limits.rows import ROWS
from runs.benchmarking.limits.suite import measure_rows
from runs.benchmarking.limits.table import write_limits
from runs.benchmarking.limits.whole import choose_rows, join, split_by_workers
from runs.benchmarking.measuring import Traffic
from runs.benchmarking.mutation.rows import MUTATION_ROWS, Trained, differing
from runs.benchmarking.mutation.work import mutation_work
from runs.benchmarking.plan import Plan, Size
from runs.services.benchmarks import store_benchmark
from tests.harness.table import table
from tests.runs.benchmark_parts import make_benchmark, make_report, measured
from tests.runs.conftest import said_by
from tests.workers.working import running_worker
from workers.engine.kinds import read_configuration
from workers.engine.kinds.evolve import Evolution
from workers.engine.kinds.mutate import Mutation
from workers.simulator.testing import running_simulator

MODEL = {"endpoint": "simulated", "model": "sim-small"}


def arrivals(*times, accepted=True):
    """Calls of 40 tokens, a fifth of a second long."""
    told = {"accepted": accepted, "tokens_in": 36, "tokens_out": 4}
    return [{"arrival": at, "end": at + 0.2, **told} for at in times]


def every(seconds, until):
    return [number * seconds for number in range(int(until / seconds) + 1)]


# --- Judging


BARS = [
    (at_most("x", 1.05, 1.05), True, "1.05"),
    (at_most("x", 1.05, 1.0501), False, "1.05"),
    (at_least("x", 0.95, 0.949, "%"), False, "94.9 %"),
    (at_least("x", 2000, 2345.6, "trials/s"), True, "2,346 trials/s"),
    (exactly("x", 0, 1), False, "1"),
    (at_most("x", 1, None, "s"), False, "–"),  # not measured is not met
]
REFUSING = measured(20, 9.0, traffic=Traffic(calls=1100, refused=11, peak_in_flight=20))
UNTOLD = measured(100, 2.0, cpu_seconds=None)
JUDGED = [
    (judging.lost(1000, measured(20, 10.0, failed=2)), 2, False),
    (judging.lost(1003, measured(20, 10.0)), 3, False),  # never ended
    (judging.ratio(20, 1.05, measured(20, 10.4)), 1.04, True),
    (judging.ratio(20, 1.05, measured(20, 20.8), calls=2), 1.04, True),
    (judging.processor(100, 0.8, measured(100, 2.0, n=500)), 1.0, False),
    (judging.processor(100, 0.8, UNTOLD), None, False),
    (judging.throughput("cold", 2000, measured(1000, 0.4)), 2500, True),
    (judging.refused_share(0.01, REFUSING), 0.01, True),
    (judging.amplification(1.05, 1000, REFUSING), 1.1, False),
    (judging.retried_share(0.15, 1000, REFUSING), 0.1, True),
    (judging.calls_of_equal_trials(2, {"total": 3}), 3, False),
    (judging.growth("w", 100, 50_000_000, 151_000_000), 101, False),
    (judging.growth("w", 100, None, None), None, False),
]


def test_measurements_become_bars_and_a_call_that_never_ended_frees_no_slot():
    told = [bar.as_document() for bar, _, _ in BARS]
    assert [(one["met"], one["shown"]) for one in told] == [row[1:] for row in BARS]
    for bar, value, is_met in JUDGED:
        assert bar.value == (None if value is None else pytest.approx(value)), bar
        assert bar.is_met == is_met, bar
    rows = arrivals(0.0, 1.0)
    assert judging.longest_at_provider(3.0, rows).value == pytest.approx(0.2)
    assert not judging.longest_at_provider(3.0, [*rows, {"arrival": 2.0, "end": None}]).is_met
    assert judging.longest_at_workers(3.0, [200.0, 3100.0]).value == 3.1
    for highest, met in ((40, [True, True]), (41, [False, True]), (35, [True, False])):
        assert [bar.is_met for bar in judging.peak(40, 0.9, {"peak_in_flight": highest})] == met


@table(
    (arrivals(*every(0.1, 65)), 1.0),  # ten a second: all of it
    (arrivals(*every(0.2, 65)), 0.5),
    (arrivals(*[0.0] * 100, *every(0.2, 65)), 0.5),  # a burst is no pace
    (arrivals(*every(0.1, 65), accepted=False), None),
    (arrivals(0.0, 1.0, 2.0), None),  # over before it was warm
    ([], None),
)
def test_the_used_share_of_a_quota_is_taken_once_warm(rows, share):
    expected = None if share is None else pytest.approx(share, rel=0.01)
    assert judging.used_share("requests", 0.95, 600, rows).value == expected
    assert judging.used_share("tokens", 0.9, 600 * 40, rows).value == expected


# --- Choosing


def test_rows_are_measured_in_order_with_enough_workers_and_other_rewards_are_counted():
    assert choose_rows("") == tuple(ROWS)
    assert choose_rows("equal, errors") == ("errors", "equal")
    assert choose_rows("", "evolution") == tuple(EVOLUTION_ROWS)
    assert choose_rows("wide,sizes", "evolution") == ("sizes", "wide")
    assert choose_rows("", "mutation") == tuple(MUTATION_ROWS) == ("batching",)
    plan = Plan(workers=2, suite="limits", rows=choose_rows("shared,errors,equal"))
    assert [(part.workers, part.rows) for part in split_by_workers(plan)] == [
        (2, ("errors",)),
        (4, ("shared", "equal")),
    ]
    (one,) = split_by_workers(Plan(workers=6, suite="limits", rows=choose_rows("shared,errors")))
    assert (one.workers, one.rows) == (6, ("errors", "shared"))
    plan = Plan(suite="evolution", rows=("sizes",), sizes=(Size(30, 50),))
    assert Plan.from_document(json.loads(json.dumps(plan.as_document()))) == plan
    slow = Trained(measured(1, 1.0), 3, [0.5, None, 1.0])
    assert differing(slow, slow._replace(rewards=[0.5, None, 1.0])) == 0
    assert differing(slow, slow._replace(rewards=[0.5, 0.0, 0.0])) == 2


@table((slots(200), 200, None), (one_at_a_time(), 1, None), (balanced(), 50, 3500))
def test_an_evolution_is_limited_as_it_says(limits, at_once, per_minute):
    found = read_configuration(evolution_work("d", MODEL, limits, population=30, generations=5))
    assert isinstance(found, Evolution)
    limited = found.limits.max_concurrent, found.limits.requests_per_minute
    assert limited == (at_once, per_minute)
    assert found.bound_trials(50).least == 30 * 50


@table(
    (5, 80, 0),  # all accounted for
    (4, 80, 1),  # one without an answer
    (5, 81, 1),  # the provider saw one more
)
def test_every_trial_has_its_answer_from_somewhere(joined, calls, missing):
    traffic = Traffic(calls=calls, refused=0, peak_in_flight=50)
    one = Evolved(measured(50, 1.0, traffic=traffic), 100, 80, 15, joined)
    assert unaccounted("one", one).value == missing
    assert one.hit_rate == (15 + joined) / 100


@table(1, 8, 16)
def test_a_step_of_a_mutation_asks_three_models_and_nothing_else(at_once):
    found = read_configuration(mutation_work("d", MODEL, at_once=at_once, steps=8))
    assert isinstance(found, Mutation)
    assert (found.limits.max_concurrent, found.count_segments()) == (at_once, 16)
    assert all(one.asks for one in found.operators)
    assert [name for name, _ in found.roles.called] == ["target", "mutator"]
    assert [scorer.name for scorer in found.scorers] == ["factuality"]


# --- Reports


def make_row(suite, name, *bars, problem=""):
    return {
        "name": name,
        "title": suite[name].title,
        "workers": 2,
        "load_before": 0.5,
        "bars": [bar.as_document() for bar in bars],
        "met": not problem and all(bar.is_met for bar in bars),
        "conditions": "2,000 trials",
        "problem": problem,
        "seconds": 7.0,
    }


def joined(*rows, suite="limits"):
    conditions = make_report()["conditions"]
    return join([{"conditions": conditions, "rows": [row]} for row in rows], suite)


def make_limits():
    return joined(
        make_row(ROWS, "errors", exactly("trials lost", 0, 0), at_most("retries", 0.15, 0.2, "%")),
        make_row(ROWS, "tpm", at_least("quota used", 0.9, 0.97, "%")),
        make_row(ROWS, "million", problem="A worker <b>ended</b>."),
    )


def test_the_table_tells_every_bar_and_what_is_missed_and_one_missed_row_is_a_missed_suite():
    text = write_limits(make_limits())
    lines = [line.split() for line in text.splitlines()]
    assert ["errors", "trials", "lost", "=", "0", "0", "met"] in lines
    assert ["retries", "<=", "15", "%", "20", "%", "MISSED"] in lines
    assert "2 of 3 rows are missed: errors, million." in text
    assert "A worker <b>ended</b>." in text
    assert not make_limits()["results"]["met"]
    assert joined(make_row(ROWS, "tpm"))["results"]["met"]


def test_the_pages_show_speed_and_suites_apart(browser):
    speed, limits = make_benchmark(), store_benchmark(make_limits())
    evolved = store_benchmark(joined(make_row(EVOLUTION_ROWS, "wide"), suite="evolution"))
    listed = browser.get(reverse("benchmarks"))
    assert [row.benchmark.pk for row in listed.context["rows"]] == [speed.pk]
    assert [row.benchmark.pk for row in listed.context["limits"]] == [evolved.pk, limits.pk]
    assert "1 of 3" in listed.text
    assert f"#{evolved.pk} evolution" in listed.text
    page = browser.get(limits.get_absolute_url()).text
    assert all(part in page for part in ("Not all are met", "&lt;= 15 %", "20 %", "missed"))
    assert "Missed: A worker &lt;b&gt;ended&lt;/b&gt;." in page
    page = browser.get(evolved.get_absolute_url()).text
    assert "Bars on prompts that evolve" in page


@pytest.mark.late
def test_a_tiny_size_is_measured_with_a_real_worker(transactional_db, settings):
    plan = Plan(suite="evolution", rows=("sizes",), sizes=(Size(4, 3),), workers=1)
    with running_simulator() as simulator:
        settings.SIMULATOR_URL = simulator.url
        settings.SIMULATOR_SECRET = simulator.headers["Authorization"].removeprefix("Bearer ")
        with running_worker() as worker:
            assert worker.pid is not None
            part = measure_rows(plan, [worker.pid], lambda *_: None, lambda _: None)
    (row,) = part["rows"]
    assert row["problem"] == ""
    bars = {bar["measured"]: bar for bar in row["bars"]}
    assert bars["4 x 3, again: answers from the cache"]["value"] == 1
    assert bars["4 x 3: trials - sent - cached - joined"]["value"] == 0
    fast, slow = (bars[f"{what}: problems/s"]["value"] for what in ("4 x 3", "one at a time"))
    assert bars["4 x 3: times as fast"]["value"] == pytest.approx(fast / slow, rel=0.01)
    report = join([part], "evolution")
    assert report["results"]["suite"] == "evolution"
    assert store_benchmark(report).results == report["results"]


# --- bench_select

bench = partial(said_by, "bench_select")
FIELDS = {
    *("matrix", "strategy", "seeds", "found"),
    *("accuracy", "evaluations", "brute_force_share", "failed"),
}


@pytest.fixture
def matrix(tmp_path):
    file = tmp_path / "small.csv"
    rows = [
        [f"agent={arm}", *(int(case % (arm + 2) > 0) for case in range(30))] for arm in range(4)
    ]
    file.write_text("\n".join(",".join(map(str, row)) for row in rows))
    return str(file)


def test_strategies_are_compared_as_json_or_as_a_table_of_all(matrix):
    names = "arm_elimination,paired_elimination"
    lines = json.loads(bench(matrix, "--strategy", names, "--seeds", "42-44", "--json"))
    assert [line["strategy"] for line in lines] == names.split(",")
    assert all(set(line) == FIELDS for line in lines)
    assert all((line["matrix"], line["seeds"]) == ("small", 3) for line in lines)
    rows = bench(matrix, "--seeds", "1").splitlines()
    assert rows[0].split()[:2] == ["matrix", "strategy"]
    assert {"brute_force", "paired_elimination"} <= {row.split()[1] for row in rows[1:]}


@table(
    (["--strategy", "guess"], "choose among arm_elimination"),
    (["--seeds", "9-3"], "write 42-91, or 7"),
    (["missing.json"], r"missing\.json"),
)
def test_a_wrong_argument_or_file_is_named(matrix, arguments, told):
    with pytest.raises(CommandError, match=told):
        bench(matrix, *arguments)
