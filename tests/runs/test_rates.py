"""How fast a run goes: a window that fits the model, and one number wherever it is shown."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from runs.models import Run, RunSample, RunState
from runs.selectors.limits.rates import NEWEST, Answered, rate_over
from runs.selectors.runs.run_filters import RunFilters
from runs.selectors.runs.run_list import list_runs
from runs.selectors.runs.run_summary import summarise
from runs.selectors.runs.series import step_of
from runs.selectors.runs.snapshot import take_snapshot
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person, make_run


def every(seconds: int, until: int, trials: int = 1) -> list[Answered]:
    """An answer now and then, as the newest samples tell it."""
    found = [Answered(second, trials) for second in range(0, until, seconds)]
    return found[::-1][:NEWEST]


@pytest.mark.parametrize(
    ("newest", "elapsed", "rate"),
    [
        pytest.param([], 3.0, 0.0, id="no answer yet"),
        pytest.param([Answered(0, 4)], 0.2, 8.0, id="the first moment counts as half a second"),
        pytest.param(every(1, until=60, trials=100), 60.0, 100.0, id="fast: the last seconds"),
        pytest.param(every(30, until=300), 300.0, 10 / 300, id="few answers: since the start"),
        pytest.param(every(30, until=3000), 2999.0, 10 / 328, id="slow: the last ten answers"),
        pytest.param(
            [*every(10, until=200)[:10], Answered(60, 900)],
            200.0,
            10 / 139,
            id="what the cache answered at once, long ago, is not part of it",
        ),
        pytest.param(
            [Answered(99, 100), Answered(98, 100)], 120.0, 100 / 21, id="stalled: it falls"
        ),
        pytest.param([Answered(10, 5)], 5000.0, 0.0, id="an hour old: nothing of it is now"),
    ],
)
def test_the_window_fits_the_model(newest, elapsed, rate):
    assert rate_over(newest, elapsed) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("length", "latency_ms", "step"),
    [
        pytest.param(1, None, 1, id="at the start"),
        pytest.param(600, 300.0, 1, id="fast calls: seconds"),
        pytest.param(300, 8_000.0, 10, id="a call a point"),
        pytest.param(60, 30_000.0, 2, id="a short chart has enough points for a course"),
        pytest.param(7_200, 4_000.0, 30, id="no more points than a chart has room for"),
        pytest.param(10_000_000, 1.0, 3600, id="the longest step"),
    ],
)
def test_a_point_of_the_chart_is_as_long_as_a_call(length, latency_ms, step):
    assert step_of(length, latency_ms) == step


@pytest.fixture
def slow_run(db, time_machine):
    """An answer every four seconds, the last one three seconds ago, and the clock stands still."""
    time_machine.move_to(timezone.now(), tick=False)
    alice = make_person("alice")
    make_endpoint()
    run = make_run(alice, make_dataset(alice), state=RunState.RUNNING, ended=None)
    started = timezone.now() - timedelta(seconds=83)
    Run.objects.filter(pk=run.pk).update(started=started, planned=100, done=21, scored=21)
    RunSample.objects.bulk_create(
        RunSample(run=run, second=second, fresh=second % 4 == 0, in_flight=2)
        for second in range(83)
    )
    run.refresh_from_db()
    return run


def test_page_list_and_api_tell_the_same_rate_of_a_slow_run(slow_run):
    shown = take_snapshot(slow_run)["text"]
    assert shown["throughput"].endswith("/min")
    assert 13 < float(shown["throughput"].removesuffix("/min")) <= 15
    [row] = list_runs(Run.objects.all(), RunFilters()).rows
    [told] = summarise([slow_run])
    assert row.rate == pytest.approx(told.rates.trials_per_second, rel=0.05)
    assert row.rate
    assert 13 < 60 * row.rate <= 15
    listed = client_of(slow_run.owner).get(reverse("runs")).content.decode()
    assert re.search(r"run-rate(?:(?!</td>).)*<span>1[345]\.\d/min<", listed, re.DOTALL)


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        pytest.param({"state": RunState.PAUSED}, "Paused", id="paused"),
        pytest.param({"reason": "Waiting: endpoint local is paused"}, "Waiting", id="waiting"),
    ],
)
def test_what_cannot_go_on_has_no_rate(slow_run, change, shown):
    Run.objects.filter(pk=slow_run.pk).update(**change)
    slow_run.refresh_from_db()
    assert take_snapshot(slow_run)["text"]["throughput"] == shown
    [row] = list_runs(Run.objects.all(), RunFilters()).rows
    assert row.rate is None


def test_the_latency_tile_says_what_it_counts(slow_run):
    def told(**totals):
        Run.objects.filter(pk=slow_run.pk).update(**totals)
        slow_run.refresh_from_db()
        return take_snapshot(slow_run)["text"]["latency_context"]

    assert told() == "no answer yet"
    assert told(latency_bins={"60": 1}) == "p95 105 ms, of 1 answer"
    assert told(cached=3, latency_bins={"60": 41}) == (
        "p95 105 ms, of 41 answers, without cached ones"
    )
    assert told(latency_bins={}) == "every answer came from the cache"
