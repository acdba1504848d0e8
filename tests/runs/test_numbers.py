"""What pages show: snapshots, leaderboards and estimates."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs.models import CachedReply, Endpoint, EndpointKind, Run, RunSample, RunState
from runs.selectors.estimates.calls import keys_of
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.selectors.runs.leaderboard import leaderboard
from runs.selectors.runs.series import read_series
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.datasets.storing import store_rows
from runs.services.runs import create_run
from tests.harness.factories import beat, make_person
from workers.engine.kinds import read_configuration
from workers.engine.records import Case

pytestmark = pytest.mark.django_db

ROWS = [{"question": f"What is {n} + 1?", "expected": str(n + 1)} for n in range(10)]


@pytest.fixture
def ada() -> User:
    return make_person("ada")


@pytest.fixture
def document(ada: User) -> dict[str, Any]:
    Endpoint.objects.create(name="simulated", kind=EndpointKind.SIMULATED, max_concurrent=30)
    store_rows(ada, "sums", ROWS)
    return {
        "name": "sums",
        "kind": "evaluate",
        "dataset": "sums",
        "prompts": [{"name": name, "system": f"You are {name}."} for name in "abc"],
        "models": ["simulated/sim-small"],
        "scorers": ["exact"],
        "limits": {"max_concurrent": 20, "requests_per_minute": None},
    }


@pytest.fixture
def run(ada: User, document: dict[str, Any]) -> Run:
    return create_run(ada, document)


def test_parameters_tell_one_model_from_itself(ada: User, document: dict[str, Any]) -> None:
    hot = {"endpoint": "simulated", "model": "sim-small", "parameters": {"temperature": 1.0}}
    run = create_run(ada, {**document, "models": ["simulated/sim-small", hot]})
    told = ["simulated/sim-small", 'simulated/sim-small {"temperature":1.0}']
    assert sorted({row.model for row in leaderboard(run)}) == told


def test_a_queued_run_says_how_many_are_before_it(run: Run, document: dict[str, Any]) -> None:
    beat("one")
    later = create_run(run.owner, {**document, "seed": 5})
    assert take_snapshot(later)["text"]["eta"] == "waiting for a worker, after 1 other run"
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    assert take_snapshot(later)["text"]["eta"] == "waiting for a worker"


def test_a_queued_run_says_what_it_waits_for(run: Run) -> None:
    beat("one")
    snapshot = take_snapshot(run)
    assert snapshot["text"]["eta"] == "waiting for a worker"
    assert snapshot["text"]["score"] == "–"
    assert snapshot["bar"] == {
        "fresh": 0,
        "cached": 0,
        "failed": 0,
        "in_flight": 0,
        "waiting": 30,
        "planned": 30,
    }


def half_done(run: Run) -> Run:
    started = timezone.now() - timedelta(seconds=5)
    Run.objects.filter(pk=run.pk).update(
        state="running", started=started, done=15, scored=14, failed=1, cached=4, calls_sent=11,
        value_sum=7.0, value_square_sum=7.0, latency_bins={"60": 10}, version=9, calls_joined=1,
    )  # fmt: skip
    for second in range(5):
        RunSample.objects.create(run=run, second=second, fresh=2, cached=1, in_flight=6)
    run.refresh_from_db()
    return run


@pytest.mark.usefixtures("still_clock")
def test_a_running_run_is_told_in_text(run: Run) -> None:
    snapshot = take_snapshot(half_done(run))
    text = snapshot["text"]
    assert (snapshot["seq"], snapshot["percent"]) == (9, 50.0)
    assert text["progress"] == "15 of 30 trials"
    assert text["score"] == "0.500"
    assert text["score_context"] == "n = 14; 0.467 if failures count as wrong"
    assert text["cache_context"] == "11 sent, 3 from cache, 1 shared with identical calls"
    assert text["in_flight_context"] == "limit 20, peak 0"
    assert text["eta"].startswith("about ")
    assert sum(snapshot["bar"][part] for part in ("fresh", "cached", "failed")) == 15


def test_a_tick_holds_only_the_end_of_the_chart(run: Run) -> None:
    half_done(run)
    RunSample.objects.create(run=run, second=7, failed=3)
    assert [row[0] for row in take_snapshot(run, series=False)["series"]["rows"]] == [1, 2, 3, 4, 7]


@pytest.mark.parametrize(("seconds", "step"), [(10, 1), (600, 1), (601, 2), (90_000, 300)])
def test_a_long_chart_has_a_bounded_number_of_points(run: Run, seconds: int, step: int) -> None:
    RunSample.objects.bulk_create(
        RunSample(run=run, second=second, fresh=3)
        for second in {*range(0, seconds, max(1, seconds // 2000)), seconds - 1}
    )
    series = read_series(run)
    assert series.step == step
    assert len(series.rows) <= 600


def test_polling_is_cheap_while_nothing_changes(run: Run, ada: User, client: Client) -> None:
    client.force_login(ada)
    url = reverse("api:run_live", args=[run.pk])
    first = client.get(url)
    assert first.json()["seq"] == 0
    assert client.get(url, headers={"If-None-Match": first["ETag"]}).status_code == 304
    Run.objects.filter(pk=run.pk).update(version=1)
    assert client.get(url, headers={"If-None-Match": first["ETag"]}).json()["seq"] == 1


def test_a_strangers_numbers_are_not_there(run: Run, client: Client) -> None:
    client.force_login(make_person("bob"))
    assert client.get(reverse("api:run_live", args=[run.pk])).status_code == 404


def test_an_estimate_counts_calls_and_names_the_limit(document: dict[str, Any]) -> None:
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


def test_an_estimate_knows_what_is_cached(document: dict[str, Any]) -> None:
    cases = [Case(place, row) for place, row in enumerate(ROWS)]
    endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.all()}
    keys = [key for key, _ in keys_of(read_configuration(document), cases, endpoints)]
    CachedReply.objects.bulk_create(
        CachedReply(key=key, endpoint="e", model="m", latency_ms=1, created=timezone.now())
        for key in keys[:12]
    )
    assert estimate(document, every_dataset()).calls_cached == 12
    assert estimate({**document, "cache": "refresh"}, every_dataset()).calls_cached == 0


def test_an_estimate_counts_equal_calls_once(document: dict[str, Any]) -> None:
    document["prompts"] = [{"name": "a"}, {"name": "twin of a"}]
    found = estimate(document, every_dataset())
    assert (found.trials, found.calls_to_send) == (20, 10)
    assert estimate({**document, "cache": "off"}, every_dataset()).calls_to_send == 20


def test_an_estimate_names_a_binding_rate(document: dict[str, Any]) -> None:
    document["limits"]["requests_per_minute"] = 60
    found = estimate(document, every_dataset())
    assert found.limited_by.startswith("60 requests a minute of this run")
    assert found.seconds_low == 30.0


def test_an_estimate_of_a_bad_document_lists_its_problems(document: dict[str, Any]) -> None:
    found = estimate({**document, "dataset": "none", "colour": 1}, every_dataset())
    assert [problem.path for problem in found.problems] == ["colour"]
    assert estimate({**document, "dataset": "none"}, every_dataset()).problems[0].path == "dataset"


def test_an_estimate_of_a_large_run_takes_a_sample(
    ada: User, document: dict[str, Any], django_assert_max_num_queries: Any
) -> None:
    rows = [{"question": f"What is {n} + 2?", "expected": str(n + 2)} for n in range(4000)]
    store_rows(ada, "many", rows)
    document |= {"dataset": "many", "repeats": 16}
    with django_assert_max_num_queries(20):
        found = estimate(document, every_dataset())
    assert found.trials == 3 * 4000 * 16
    assert found.calls_cached == 0
    assert found.calls_cached_text.startswith("about 0 (0 to")


def test_an_estimate_names_the_money(document: dict[str, Any]) -> None:
    Endpoint.objects.update(prices={"sim-small": {"input": 1.0, "output": 2.0}})
    found = estimate(document, every_dataset())
    assert found.cost_text.startswith("$0.00")
    assert " – $" in found.cost_text


def test_the_endpoints_limits_bind_too(document: dict[str, Any]) -> None:
    Endpoint.objects.update(requests_per_minute=120)
    found = estimate(document, every_dataset())
    assert found.limited_by.startswith("120 requests a minute of simulated/sim-small; raising")
    assert found.seconds_low == 15.0
