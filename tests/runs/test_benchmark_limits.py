"""The limits suite: how it judges, what it refuses, its pages, and two rows with real parts."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from runs.benchmarking.limits import judging
from runs.benchmarking.limits.bars import Bar, at_least, at_most, exactly
from runs.benchmarking.limits.rows import ROWS
from runs.benchmarking.limits.table import write_limits
from runs.benchmarking.limits.whole import choose_rows, join, split_by_workers
from runs.benchmarking.measuring import Traffic
from runs.benchmarking.plan import Plan
from runs.models import Benchmark
from runs.services.benchmarks import store_benchmark
from tests.harness.factories import client_of, make_person
from tests.harness.patience import PATIENCE_SECONDS
from tests.runs.benchmark_parts import make_benchmark, make_report, measured
from tests.runs.test_benchmarks import left_in, running_command


def arrivals(*times: float, accepted: bool = True, tokens: int = 40) -> list[dict[str, Any]]:
    return [
        {
            "arrival": at,
            "end": at + 0.2,
            "accepted": accepted,
            "tokens_in": tokens - 4,
            "tokens_out": 4,
        }
        for at in times
    ]


def every(seconds: float, until: float) -> list[float]:
    return [number * seconds for number in range(int(until / seconds) + 1)]


# --- Judging


@pytest.mark.parametrize(
    ("bar", "is_met", "shown"),
    [
        pytest.param(at_most("x", 1.05, 1.05), True, "1.05", id="just met"),
        pytest.param(at_most("x", 1.05, 1.0501), False, "1.05", id="just above"),
        pytest.param(at_least("x", 0.95, 0.949, "%"), False, "94.9 %", id="just below"),
        pytest.param(at_least("x", 2000, 2345.6, "trials/s"), True, "2,346 trials/s", id="enough"),
        pytest.param(exactly("x", 0, 1), False, "1", id="not nothing"),
        pytest.param(at_most("x", 1, None, "s"), False, "–", id="not measured is not met"),
    ],
)
def test_a_bar_is_met_or_not(bar: Bar, is_met: bool, shown: str) -> None:
    told = bar.as_document()
    assert (told["met"], told["shown"]) == (is_met, shown)


REFUSING = Traffic(calls=1100, refused=11, peak_in_flight=20)


@pytest.mark.parametrize(
    ("bar", "value", "is_met"),
    [
        pytest.param(judging.lost(1000, measured(20, 10.0, failed=2)), 2, False, id="failed"),
        pytest.param(judging.lost(1003, measured(20, 10.0)), 3, False, id="never ended"),
        pytest.param(judging.ratio(20, 1.05, measured(20, 10.4)), 1.04, True, id="ratio"),
        pytest.param(
            judging.ratio(20, 1.05, measured(20, 20.8), calls=2), 1.04, True, id="of two calls"
        ),
        pytest.param(
            judging.processor(100, 0.8, measured(100, 2.0, n=500)), 1.0, False, id="processor"
        ),
        pytest.param(
            judging.processor(100, 0.8, measured(100, 2.0, cpu_seconds=None)),
            None,
            False,
            id="processor unknown",
        ),
        pytest.param(
            judging.throughput("cold", 2000, measured(1000, 0.4)), 2500, True, id="throughput"
        ),
        pytest.param(
            judging.refused_share(0.01, measured(20, 9.0, traffic=REFUSING)), 0.01, True, id="429"
        ),
        pytest.param(
            judging.amplification(1.05, 1000, measured(20, 9.0, traffic=REFUSING)),
            1.1,
            False,
            id="amplification",
        ),
        pytest.param(
            judging.retried_share(0.15, 1000, measured(20, 9.0, traffic=REFUSING)),
            0.1,
            True,
            id="retries",
        ),
        pytest.param(
            judging.calls_of_equal_trials(2, {"total": 3}), 3, False, id="an equal call too many"
        ),
        pytest.param(judging.growth("w", 100, 50_000_000, 151_000_000), 101, False, id="memory"),
        pytest.param(judging.growth("w", 100, None, None), None, False, id="memory unknown"),
    ],
)
def test_measurements_become_bars(bar: Bar, value: float | None, is_met: bool) -> None:
    assert bar.value == (None if value is None else pytest.approx(value))
    assert bar.is_met == is_met


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        pytest.param(arrivals(*every(0.1, 65)), 1.0, id="ten a second: all of it"),
        pytest.param(arrivals(*every(0.2, 65)), 0.5, id="half of it"),
        pytest.param(
            arrivals(*[0.0] * 100, *every(0.2, 65)), 0.5, id="a burst at the start is no pace"
        ),
        pytest.param(
            arrivals(*every(0.1, 65), accepted=False), None, id="refused calls use nothing"
        ),
        pytest.param(arrivals(0.0, 1.0, 2.0), None, id="over before it was warm"),
        pytest.param([], None, id="no calls"),
    ],
)
def test_the_used_share_of_a_quota_is_taken_once_warm(
    rows: list[dict[str, Any]], share: float | None
) -> None:
    expected = None if share is None else pytest.approx(share, rel=0.01)
    assert judging.used_share("requests", 0.95, 600, rows).value == expected
    assert judging.used_share("tokens", 0.9, 600 * 40, rows).value == expected


def test_a_call_that_never_ended_cannot_have_freed_its_slot() -> None:
    rows = arrivals(0.0, 1.0)
    assert judging.longest_at_provider(3.0, rows).value == pytest.approx(0.2)
    assert not judging.longest_at_provider(3.0, [*rows, {"arrival": 2.0, "end": None}]).is_met
    assert judging.longest_at_workers(3.0, [200.0, 3100.0]).value == 3.1


@pytest.mark.parametrize(
    ("highest", "met"),
    [(40, [True, True]), (41, [False, True]), (35, [True, False])],
)
def test_the_peak_is_within_the_limit_and_near_it(highest: int, met: list[bool]) -> None:
    assert [bar.is_met for bar in judging.peak(40, 0.9, {"peak_in_flight": highest})] == met


# --- Choosing


def test_rows_are_measured_in_the_suites_order_and_with_enough_workers() -> None:
    assert choose_rows("") == tuple(ROWS)
    assert choose_rows("equal, errors") == ("errors", "equal")
    parts = split_by_workers(
        Plan(workers=2, suite="limits", rows=choose_rows("shared,errors,equal"))
    )
    assert [(part.workers, part.rows) for part in parts] == [
        (2, ("errors",)),
        (4, ("shared", "equal")),
    ]
    (one,) = split_by_workers(Plan(workers=6, suite="limits", rows=choose_rows("shared,errors")))
    assert (one.workers, one.rows) == (6, ("errors", "shared"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--suite", "limits", "--rows", "rpm7"], "no rpm7. Choose from", id="row"),
        pytest.param(["--rows", "errors"], "Add --suite limits", id="rows of the other suite"),
        pytest.param(
            ["--suite", "limits", "--endpoint", "paid"], "simulated provider only", id="endpoint"
        ),
        pytest.param(["--suite", "limits", "--trials", "0"], "--trials is 0", id="no trials"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    transactional_db: None, arguments: list[str], says: str
) -> None:
    with pytest.raises(CommandError, match=says) as refused:
        call_command("benchmark", *arguments)
    assert refused.value.returncode == 2


# --- Reports


def make_row(name: str, *bars: Bar, problem: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "title": ROWS[name].title,
        "workers": 2,
        "load_before": 0.5,
        "bars": [bar.as_document() for bar in bars],
        "met": not problem and all(bar.is_met for bar in bars),
        "conditions": "2,000 trials",
        "problem": problem,
        "seconds": 7.0,
    }


def make_limits() -> dict[str, Any]:
    conditions = make_report()["conditions"]
    rows = [
        make_row("errors", exactly("trials lost", 0, 0), at_most("retries", 0.15, 0.2, "%")),
        make_row("tpm", at_least("quota used", 0.9, 0.97, "%")),
        make_row("million", problem="A worker <b>ended</b>."),
    ]
    return join([{"conditions": conditions, "rows": [row]} for row in rows])


def test_the_table_tells_every_bar_and_what_is_missed() -> None:
    text = write_limits(make_limits())
    lines = [line.split() for line in text.splitlines()]
    assert ["errors", "trials", "lost", "=", "0", "0", "met"] in lines
    assert ["retries", "<=", "15", "%", "20", "%", "MISSED"] in lines
    assert "2 of 3 rows are missed: errors, million." in text
    assert "A worker <b>ended</b>." in text


def test_one_missed_row_is_a_missed_suite() -> None:
    assert not make_limits()["results"]["met"]
    met = join([{"conditions": make_report()["conditions"], "rows": [make_row("tpm")]}])
    assert met["results"]["met"]


@pytest.mark.django_db
def test_the_pages_show_speed_and_limits_apart() -> None:
    visitor = client_of(make_person("alice"))
    speed, limits = make_benchmark(), store_benchmark(make_limits())
    listed = visitor.get(reverse("benchmarks"))
    assert [row.benchmark.pk for row in listed.context["rows"]] == [speed.pk]
    assert [row.benchmark.pk for row in listed.context["limits"]] == [limits.pk]
    assert "1 of 3" in listed.content.decode()
    page = visitor.get(limits.get_absolute_url()).content.decode()
    assert all(part in page for part in ("Not all are met", "&lt;= 15 %", "20 %", "missed"))
    assert "Missed: A worker &lt;b&gt;ended&lt;/b&gt;." in page


# --- The whole, with real processes


@pytest.mark.late
def test_a_tiny_suite_judges_real_runs_and_tells_by_its_exit_code(transactional_db, tmp_path):
    tiny = ["--suite", "limits", "--rows", "in_flight,errors", "--trials", "300", "--workers", "1"]
    with running_command(tmp_path, *tiny, "--json") as command:
        text, said = command.communicate(timeout=PATIENCE_SECONDS)
    assert command.returncode == 1, said
    assert "1 of 2 rows are missed: in_flight." in said
    report = json.loads(text)
    slow, errors = report["results"]["rows"]
    assert [bar["met"] for bar in errors["bars"]] == [True, True]
    retried = errors["bars"][1]
    assert retried["measured"] == "retries, of the trials"
    assert 0 < retried["value"] <= 0.15
    at_200 = slow["bars"][-2]
    assert at_200["measured"] == "wall / ideal, 200 in flight"
    assert at_200["value"] >= 2  # a hundred trials cannot fill two hundred slots
    assert Benchmark.objects.get(pk=report["id"]).results == report["results"]
    assert left_in(tmp_path) == []
