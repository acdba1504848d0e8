"""What pages show: snapshots, leaderboards, speed and estimates."""

import math
import re
from ast import literal_eval
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from runs import formatting
from runs.models import CachedReply, Dataset, Endpoint, Run, RunSample, RunState
from runs.selectors.estimates.calls import keys_of
from runs.selectors.estimates.estimate import estimate
from runs.selectors.limits.rates import NEWEST, Answered, rate_over
from runs.selectors.named_parts import every_dataset
from runs.selectors.runs.costs import cost_per_thousand, cost_text
from runs.selectors.runs.leaderboard import leaderboard
from runs.selectors.runs.run_filters import RunFilters
from runs.selectors.runs.run_list import list_runs
from runs.selectors.runs.run_summary import summarise
from runs.selectors.runs.series import read_series, step_of
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.datasets.storing import store_rows
from runs.services.runs import create_run
from tests.harness.factories import add_score, beat, client_of, make_run, run_document
from workers.engine.kinds import read_configuration
from workers.engine.records import Case

pytestmark = pytest.mark.django_db

ROWS = [{"question": f"What is {n} + 1?", "expected": str(n + 1)} for n in range(10)]


@pytest.fixture
def document(alice, endpoint):
    Endpoint.objects.update(max_concurrent=30)
    store_rows(alice, "sums", ROWS)
    prompts = [{"name": name, "system": f"You are {name}."} for name in "abc"]
    limits = {"max_concurrent": 20, "requests_per_minute": None}
    return run_document(Dataset(name="sums", version=1), prompts=prompts, limits=limits)


@pytest.fixture
def run(alice, document):
    return create_run(alice, document)


def test_parameters_tell_a_model_from_itself_and_polling_is_cheap(alice, document, run, bob):
    hot = {"endpoint": "simulated", "model": "sim-small", "parameters": {"temperature": 1.0}}
    two = create_run(alice, {**document, "models": ["simulated/sim-small", hot]})
    told = ["simulated/sim-small", 'simulated/sim-small {"temperature":1.0}']
    assert sorted({row.model for row in leaderboard(two)}) == told
    client, url = client_of(alice), reverse("api:run_live", args=[run.pk])
    first = client.get(url)
    assert first.json()["seq"] == 0
    same = client.get(url, headers={"If-None-Match": first["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    Run.objects.filter(pk=run.pk).update(version=1)
    assert client.get(url, headers={"If-None-Match": first["ETag"]}).json()["seq"] == 1
    assert client_of(bob).get(url).status_code == 404


def test_a_queued_run_says_what_it_waits_for_and_a_long_chart_has_few_points(run, document):
    beat("one")
    snapshot = take_snapshot(run)
    assert (snapshot["text"]["eta"], snapshot["text"]["score"]) == ("waiting for a worker", "–")
    counts = dict.fromkeys(("fresh", "cached", "failed", "in_flight"), 0)
    assert snapshot["bar"] == {**counts, "waiting": 30, "planned": 30}
    later = create_run(run.owner, {**document, "seed": 5})
    assert take_snapshot(later)["text"]["eta"] == "waiting for a worker, after 1 other run"
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    assert take_snapshot(later)["text"]["eta"] == "waiting for a worker"
    for seconds, step in ((10, 1), (600, 1), (601, 2), (90_000, 300)):
        run.samples.all().delete()
        RunSample.objects.bulk_create(
            RunSample(run=run, second=second, fresh=3)
            for second in {*range(0, seconds, max(1, seconds // 700)), seconds - 1}
        )
        series = read_series(run)
        assert (series.step, len(series.rows) <= 600) == (step, True), seconds


@pytest.mark.usefixtures("still_clock")
def test_a_running_run_is_told_in_text_and_ticks_hold_only_the_end_of_its_chart(run):
    started = timezone.now() - timedelta(seconds=5)
    Run.objects.filter(pk=run.pk).update(
        state="running", started=started, done=15, scored=14, failed=1, cached=4, calls_sent=11,
        value_sum=7.0, value_square_sum=7.0, latency_bins={"60": 10}, version=9, calls_joined=1,
    )  # fmt: skip
    for second in range(5):
        RunSample.objects.create(run=run, second=second, fresh=2, cached=1, in_flight=6)
    counted = {"scored": 14, "failed": 1, "value_sum": 7.0, "value_square_sum": 7.0}
    run.candidates.filter(position=0).update(done=15, **counted)
    run.refresh_from_db()
    snapshot = take_snapshot(run)
    text = snapshot["text"]
    assert (snapshot["seq"], snapshot["percent"]) == (9, 50.0)
    assert (text["progress"], text["score"]) == ("15 of 30 trials", "0.500")
    assert text["score_context"] == (
        "a · simulated/sim-small; 95 % interval, n = 14; 0.467 if failures count as wrong"
    )
    assert text["cache_context"] == "11 sent, 3 from cache, 1 shared with identical calls"
    assert text["in_flight_context"] == "limit 20, peak 0"
    assert text["eta"].startswith("about ")
    assert sum(snapshot["bar"][part] for part in ("fresh", "cached", "failed")) == 15
    RunSample.objects.create(run=run, second=7, failed=3)
    assert [row[0] for row in take_snapshot(run, series=False)["series"]["rows"]] == [1, 2, 3, 4, 7]


def test_an_estimate_counts_calls_and_names_limit_rate_and_money_or_what_is_wrong(document):
    found = estimate(document, every_dataset())
    assert (found.candidates, found.cases, found.trials) == (3, 10, 30)
    assert (found.calls_cached, found.calls_to_send) == (0, 30)
    assert found.allocation == (3, 6)  # case by case, as the grid goes
    assert (found.usable_slots_static, found.slots_lent) == (18, 2)
    assert found.limited_by.startswith(
        "20 calls at once of this run; raising Calls at once (max_concurrent) makes it"
    )
    assert found.cost_text == "unknown: no price for simulated/sim-small"
    assert found.seconds_low == found.seconds_high == 1.5
    assert found.basis == "No past calls of these models: 1 s a call is assumed."
    Endpoint.objects.update(prices={"sim-small": {"input": 1.0, "output": 2.0}})
    priced = estimate(document, every_dataset())
    assert priced.cost_text.startswith("$0.00")
    assert " – $" in priced.cost_text
    Endpoint.objects.update(requests_per_minute=120)
    found = estimate(document, every_dataset())
    assert found.limited_by.startswith("120 requests a minute of simulated/sim-small; raising")
    assert found.seconds_low == 15.0
    document["limits"]["requests_per_minute"] = 60
    found = estimate(document, every_dataset())
    assert found.limited_by.startswith("60 requests a minute of this run")
    assert found.seconds_low == 30.0
    found = estimate({**document, "dataset": "none", "colour": 1}, every_dataset())
    assert [problem.path for problem in found.problems] == ["colour"]
    assert estimate({**document, "dataset": "none"}, every_dataset()).problems[0].path == "dataset"


def test_an_estimate_knows_what_is_cached_and_counts_equal_calls_once(document):
    cases = [Case(place, row) for place, row in enumerate(ROWS)]
    endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.all()}
    keys = [key for key, _ in keys_of(read_configuration(document), cases, endpoints)]
    CachedReply.objects.bulk_create(
        CachedReply(key=key, endpoint="e", model="m", latency_ms=1, created=timezone.now())
        for key in keys[:12]
    )
    assert estimate(document, every_dataset()).calls_cached == 12
    assert estimate({**document, "cache": "refresh"}, every_dataset()).calls_cached == 0
    document["prompts"] = [{"name": "a"}, {"name": "twin of a"}]
    found = estimate(document, every_dataset())
    assert (found.trials, found.calls_to_send) == (20, 10)
    assert estimate({**document, "cache": "off"}, every_dataset()).calls_to_send == 20


def test_an_estimate_of_a_large_run_takes_a_sample(alice, document, django_assert_max_num_queries):
    rows = [{"question": f"What is {n} + 2?", "expected": str(n + 2)} for n in range(4000)]
    store_rows(alice, "many", rows)
    document |= {"dataset": "many", "repeats": 16}
    with django_assert_max_num_queries(20):
        found = estimate(document, every_dataset())
    assert (found.trials, found.calls_cached) == (3 * 4000 * 16, 0)
    assert found.calls_cached_text.startswith("about 0 (0 to")


# --- How fast a run goes: a window that fits the model, and one number wherever it is shown


def every(seconds, until, trials=1):
    """An answer now and then, as the newest samples tell it."""
    return [Answered(second, trials) for second in range(0, until, seconds)][::-1][:NEWEST]


LONG_AGO = [*every(10, until=200)[:10], Answered(60, 900)]
RATES = {
    "no answer yet": ([], 3.0, 0.0),
    "the first moment counts as half a second": ([Answered(0, 4)], 0.2, 8.0),
    "fast: the last seconds": (every(1, until=60, trials=100), 60.0, 100.0),
    "few answers: since the start": (every(30, until=300), 300.0, 10 / 300),
    "slow: the last ten answers": (every(30, until=3000), 2999.0, 10 / 328),
    "what the cache answered at once, long ago, is not part of it": (LONG_AGO, 200.0, 10 / 139),
    "stalled: it falls": ([Answered(99, 100), Answered(98, 100)], 120.0, 100 / 21),
    "an hour old: nothing of it is now": ([Answered(10, 5)], 5000.0, 0.0),
}
STEPS = {
    "at the start": (1, None, 1),
    "fast calls: seconds": (600, 300.0, 1),
    "a call a point": (300, 8_000.0, 10),
    "a short chart has enough points for a course": (60, 30_000.0, 2),
    "no more points than a chart has room for": (7_200, 4_000.0, 30),
    "the longest step": (10_000_000, 1.0, 3600),
}


def test_the_window_fits_the_model_and_a_point_of_the_chart_is_as_long_as_a_call():
    found = {case: rate_over(newest, elapsed) for case, (newest, elapsed, _) in RATES.items()}
    assert found == pytest.approx({case: rate for case, (*_, rate) in RATES.items()})
    steps = {case: step_of(length, latency) for case, (length, latency, _) in STEPS.items()}
    assert steps == {case: step for case, (*_, step) in STEPS.items()}


@pytest.fixture
def slow_run(alice, dataset, still_clock):
    """An answer every four seconds, the last one three seconds ago, and the clock stands still."""
    started = timezone.now() - timedelta(seconds=83)
    totals = {"started": started, "planned": 100, "done": 21, "scored": 21}
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None, **totals)
    RunSample.objects.bulk_create(
        RunSample(run=run, second=second, fresh=second % 4 == 0, in_flight=2)
        for second in range(83)
    )
    return run


def test_page_list_and_api_tell_the_same_of_a_slow_run_and_no_rate_of_what_cannot_go_on(slow_run):
    shown = take_snapshot(slow_run)["text"]
    assert shown["throughput"].endswith("/min")
    assert 13 < float(shown["throughput"].removesuffix("/min")) <= 15
    [row] = list_runs(Run.objects.all(), RunFilters()).rows
    [told] = summarise([slow_run])
    assert row.rate == pytest.approx(told.rates.trials_per_second, rel=0.05)
    assert row.rate
    assert 13 < 60 * row.rate <= 15
    listed = client_of(slow_run.owner).get(reverse("runs")).text
    assert re.search(r"run-rate(?:(?!</td>).)*<span>1[345]\.\d/min<", listed, re.DOTALL)

    def latency(**totals):
        Run.objects.filter(pk=slow_run.pk).update(**totals)
        slow_run.refresh_from_db()
        return take_snapshot(slow_run)["text"]["latency_context"]

    assert latency() == "no answer yet"
    assert latency(latency_bins={"60": 1}) == "p95 105 ms, of 1 answer"
    assert latency(cached=3, latency_bins={"60": 41}) == (
        "p95 105 ms, of 41 answers, without cached ones"
    )
    assert latency(latency_bins={}) == "every answer came from the cache"
    for change, word in (
        ({"reason": "Waiting: endpoint local is paused"}, "Waiting"),
        ({"state": RunState.PAUSED, "reason": ""}, "Paused"),
    ):
        Run.objects.filter(pk=slow_run.pk).update(**change)
        slow_run.refresh_from_db()
        assert take_snapshot(slow_run)["text"]["throughput"] == word
        [row] = list_runs(Run.objects.all(), RunFilters()).rows
        assert row.rate is None


# What each function writes. Counts are exact below ten thousand; a duration has at most two units;
# the unit of milliseconds changes where a person would change it; a tile has room for eight
# characters; of dollars four digits count below one; a guess has two digits that count.
WRITTEN = """
count: 0 is 0; 999 is 999; 1234 is 1,234; 9_999 is 9,999; 10_000 is 10.0k; 12_345 is 12.3k
count: 999_949 is 999.9k; 999_950 is 1.0M; 4_520_000 is 4.5M; 2_000_000_000 is 2.0G; -12 is -12
exact_count: 1_234_567 is 1,234,567
percent: 0 is 0.0 %; 0.125 is 12.5 %; 1 is 100.0 %; 0.00049 is 0.0 %
duration: -1 is 0.0 s; 0.83 is 0.8 s; 9.94 is 9.9 s; 9.96 is 10 s; 59.4 is 59 s; 59.6 is 1m 00s
duration: 125 is 2m 05s; 3599.7 is 1h 00m; 3720 is 1h 02m; 273_600 is 3d 04h
milliseconds: 0.84 is 0.8 ms; 9.96 is 10 ms; 210.4 is 210 ms; 999.6 is 1.0 s; 1_234 is 1.2 s
milliseconds: 59_940 is 59.9 s; 125_000 is 2m 05s
rate: 0 is 0.0/s; 48.24 is 48.2/s; 1234 is 1,234/s; 12_300 is 12.3k/s; 0.999 is 1.0/s
rate: 0.99 is 59.4/min; 0.1033 is 6.2/min; 0.0166667 is 1.0/min; 0.0041667 is 15.0/h
short_dollars: 0 is $0.00; 0.00001 is <$0.0001; 0.00013084 is $0.00013; 0.012345 is $0.01235
short_dollars: 0.999996 is $1.00; 12.345 is $12.35; 999.99 is $999.99; 1234.5 is $1,234
short_dollars: 12_345 is $12.3k
dollars: 0 is $0.00; 0.0123 is $0.0123; 0.012345 is $0.01235; 0.00001234567 is $0.00001235
dollars: 0.5 is $0.50; 0.999999 is $1.00; 1.234 is $1.23; 12_345.678 is $12,345.68
score: 0.87349 is 0.873
digits: 0.0 is 0; 0.61249 is 0.612; -0.0021349 is −0.00213; 0.00001 is 0.00001; 12345.6 is 12,346
about: 7 is 7; 60 is 60; 345 is 340; 6158 is 6,200; 1_234_567 is 1,200,000
plain_number: 2.5 is 2.5; 10.0 is 10; 0.00005 is 0.00005; 0 is 0
"""
DASHED = [
    *(formatting.count, formatting.exact_count, formatting.percent, formatting.duration),
    *(formatting.milliseconds, formatting.rate, formatting.score, formatting.dollars),
    lambda number: formatting.score_interval(number, 0.5),
    lambda number: formatting.score_interval(0.5, number),
    lambda number: formatting.signed_interval(number, 0.5),
]


def test_a_number_is_written_as_people_read_it_and_what_is_none_is_a_dash():
    wanted, found = {}, {}
    for line in WRITTEN.strip().splitlines():
        name, _, pairs = line.partition(": ")
        for pair in pairs.split("; "):
            number, _, text = pair.partition(" is ")
            wanted[name, number] = text
            found[name, number] = getattr(formatting, name)(literal_eval(number))
    assert found == wanted
    assert max(len(text) for (name, _), text in found.items() if name == "short_dollars") <= 8
    assert formatting.score_interval(0.8449, 0.9) == "0.84 – 0.90"
    assert formatting.signed_interval(-0.0512, 0.01) == "−0.05 to +0.01"
    missing = (None, math.nan, math.inf, -math.inf)
    assert {write(number) for write in DASHED for number in missing} == {"–"}


PRICES = {"sim-small": {"input": 0.15, "output": 0.6}}
FACTS = {"endpoints": {"simulated": {"prices": PRICES}}}


NOBODY = "no answer paid for yet"
TOLD: list[tuple[dict[str, Any], str, str]] = [
    ({}, "–", NOBODY),
    ({"failed": 3, "done": 3}, "–", NOBODY),
    ({"scored": 3, "cost": 0.0123, "cost_saved": 0.5}, "$0.0123", "$0.50 saved by the cache"),
    ({"scored": 3, "cost_saved": 0.25}, "$0.00", "$0.25 saved by the cache"),  # all from there
    ({"scored": 3, "unpriced": 3}, "unknown", "3 calls of unknown price"),
    (
        {"scored": 13, "cost": 0.0123, "unpriced": 12},
        "$0.0123 + 12 calls of unknown price",
        "+ 12 of unknown price, $0.00 saved",
    ),
    (
        {"scored": 2, "cost": 1.5, "unpriced": 1},
        "$1.50 + 1 call of unknown price",
        "+ 1 of unknown price, $0.00 saved",
    ),
]


def test_a_runs_cost_is_told_in_words_and_its_tile_is_live(alice, dataset):
    for totals, cost, context in TOLD:
        text = cost_text(make_run(alice, dataset, **totals))
        assert (text["cost"], text["cost_context"]) == (cost, context)
    run = make_run(alice, dataset, scored=2, done=2, cost=0.0123, cost_saved=0.004)
    assert take_snapshot(run)["text"]["cost_value"] == "$0.0123"
    page = client_of(alice).get(run.get_absolute_url()).text
    assert '<span class="tile-value" data-live="cost_value">$0.0123</span>' in page
    assert 'data-live="cost_context">$0.004 saved by the cache</span>' in page
    assert page.count('class="tile"') == 6


def test_candidates_tell_the_cost_of_a_thousand_answers_and_a_trial_its_own(alice, dataset):
    told = {"scored": 4, "tokens_in": 4000, "tokens_out": 400}
    for facts, totals, cost, shown in (
        (FACTS, told, pytest.approx(0.21), "$0.21"),
        ({}, told, None, "unknown"),  # no price
        (FACTS, {"scored": 4}, None, "unknown"),  # tokens not told
        (FACTS, {}, None, "–"),
    ):
        run = make_run(alice, dataset, snapshot_of=facts)
        run.candidates.update(done=totals.get("scored", 0), **totals)
        assert cost_per_thousand(run, run.candidates.get()) == cost
        page = client_of(alice).get(reverse("run_leaderboard", args=[run.pk])).text
        assert f"{shown}</" in page.split('data-label="$ per 1k"')[1].split("</tr>")[0]
    run, case = make_run(alice, dataset), dataset.cases.get(position=0)
    for fields, text in (
        ({"cost": 0.00021}, "$0.00021</dd>"),
        ({"cost": 0.0, "cached": True}, "$0.00</dd>"),
        ({}, "unknown: the model has no price,"),
        (failed("timeout"), "no answer arrived</dd>"),
        (failed("too_large"), "unknown: the model has no price"),  # an answer of no use
        ({"attempts": []}, "no call was made</dd>"),  # as of an episode whose player asks nobody
    ):
        score = add_score(run, case, run.candidates.get(), 0, **fields)
        assert f"<dt>Cost</dt><dd>{text}" in client_of(alice).get(score.get_absolute_url()).text
        score.delete()


def failed(error):
    return {"error_class": error, "attempts": [["call", error, 1.0, 9.0, ""]]}
