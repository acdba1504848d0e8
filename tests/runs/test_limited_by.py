"""What a run page says limits the run: read from a real Redis, as the workers write it."""

from typing import Any

import pytest
import redis
from django.db import transaction
from django.urls import reverse

from runs.models import Chunk, ChunkState, Endpoint, Run, RunState
from runs.selectors.health import forget_troubles
from runs.selectors.runs.snapshot import take_snapshot
from runs.selectors.worker_beats import BEATS
from tests.api.asking import Asker
from tests.harness.factories import beat, client_of, make_dataset, make_endpoint, make_run
from tests.runs.conftest import exchange
from workers.engine.throttling.permits import Demand, Quota, Report

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("still_permits")]

NOTHING, GOOD, BAD = Report(), Report(good=5), Report(troubled=5, row=5)
REFUSED = Report(throttled=1, pause_seconds=30.0)


@pytest.fixture
def endpoint():
    endpoint = make_endpoint()
    Endpoint.objects.filter(pk=endpoint.pk).update(adaptive=False)
    return endpoint


@pytest.fixture
def run(bob, endpoint, settings):
    beat(*(f"worker {number}" for number in range(settings.WORKERS)))
    run = make_run(bob, make_dataset(bob), state=RunState.RUNNING, ended=None, planned=500)
    Run.objects.filter(pk=run.pk).update(asked=500)
    return Run.objects.get(pk=run.pk)


def limit(run, **limits):
    """Give the run limits of its own."""
    run.document["limits"] = limits
    run.save(update_fields=["document"])


def work(run, endpoint, wants, *, reports=(NOTHING,), holder="worker", of=None, **model):
    """What a worker says that has so many calls to make under the run's and the model's quota."""
    limits = run.document.get("limits", {})
    endpoint.refresh_from_db()
    of_run = Quota(
        f"run:{run.pk}",
        limits.get("max_concurrent") or endpoint.max_concurrent,
        limits.get("requests_per_minute"),
        limits.get("tokens_per_minute"),
    )
    of_model = Quota(
        f"endpoint:{endpoint.pk}/sim-small",
        endpoint.max_concurrent,
        endpoint.requests_per_minute,
        endpoint.tokens_per_minute,
        group=str((of or run).pk),
        is_adaptive=endpoint.adaptive,
        is_guarded=True,
        **model,
    )
    slots = run.quota.get("slots")
    of_owner = [Quota(f"person:{run.owner_id}", slots, group=str(run.pk))] if slots else []
    quotas = (*of_owner, of_run, of_model)
    held = 0
    for report in reports:
        demand = Demand((held,) * len(quotas), wants, tokens_each=100, report=report)
        held += exchange(quotas, demand, holder).permits


def said(run):
    return take_snapshot(Run.objects.get(pk=run.pk))


OPERATOR = "An operator can raise it on the endpoint's page."
# By cause: limits of the run, limits of the endpoint, and the words.
LIMITED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "run_slots": (
        {"max_concurrent": 7},
        {},
        "the run's own 7 calls at once. Raise Calls at once under Limits and budget.",
    ),
    "endpoint_slots": ({}, {}, f"simulated's 20 calls at once. {OPERATOR}"),
    "run_requests": ({"requests_per_minute": 600}, {}, "the run's own 600 requests a minute."),
    "run_tokens": ({"tokens_per_minute": 6000}, {}, "the run's own 6,000 tokens a minute."),
    "endpoint_requests": ({}, {"requests_per_minute": 60}, "simulated's 60 requests a minute. An"),
    "endpoint_tokens": ({}, {"tokens_per_minute": 6000}, "simulated's 6,000 tokens a minute. An"),
    "adaptive": ({}, {"adaptive": True, "max_concurrent": 200}, "20 of 200 calls at once now"),
    "schedule": (
        {"max_concurrent": 10, "batch_size": 2, "schedule": "two_level"},
        {},
        "1 candidate × 2 calls at once",
    ),
}


def test_a_limit_of_the_run_or_the_endpoint_is_named(settings, run, endpoint):
    found = {}
    for cause, (limits, of_endpoint, text) in LIMITED.items():
        with transaction.atomic(), redis.Redis.from_url(settings.REDIS_URL) as client:
            limit(run, **limits)
            Endpoint.objects.filter(pk=endpoint.pk).update(**of_endpoint)
            work(run, endpoint, 60)
            found[cause] = snapshot = said(run)
            client.delete(*client.scan_iter("permits:*"))
            transaction.set_rollback(True)
        begins = "" if cause in {"adaptive", "schedule"} else "Limited by "
        assert f"{begins}{text}" in snapshot["text"]["limited_by"]
        if cause.endswith("slots"):
            at_once = limits.get("max_concurrent", 20)
            assert snapshot["limited_by"]["limit"] == snapshot["limit"] == at_once
            assert (snapshot["limit_steps"], snapshot["rate_limit"]) == ([[0, at_once]], None)
    assert {cause: one["limited_by"]["cause"] for cause, one in found.items()} == {
        cause: cause for cause in LIMITED
    }
    assert found["run_slots"]["limited_by"]["model"] == ""
    adaptive = found["adaptive"]
    assert adaptive["limit"] == adaptive["limited_by"]["limit"] == 20  # it starts there


def test_a_pause_after_429_and_an_open_breaker(run, endpoint):
    for reports, cause, text in (
        ((GOOD, REFUSED), "pause", "simulated/sim-small answered 429"),
        ((NOTHING, BAD), "breaker", "simulated/sim-small keeps failing"),
    ):
        work(run, endpoint, 5, reports=reports)
        snapshot = said(run)
        assert snapshot["limited_by"]["cause"] == cause
        assert text in snapshot["text"]["limited_by"]


def test_slots_that_other_runs_use_are_said_also_of_the_owners_own(run, endpoint, bob):
    other = make_run(bob, run.dataset, state=RunState.RUNNING, ended=None)
    work(other, endpoint, 12, holder="other", of=other)
    work(run, endpoint, 30)
    assert said(run)["limited_by"]["text"].endswith("Other runs use 12 of them.")
    other.quota = run.quota = {"slots": 5}
    run.save(update_fields=["quota"])
    work(other, endpoint, 2, holder="other", of=other)
    work(run, endpoint, 30)
    assert said(run)["limited_by"] == {
        "cause": "owner_slots",
        "limit": 5,
        "model": "",
        "text": "Limited by its owner's 5 calls at once. An administrator can raise it. "
        "Other runs of theirs use 2 of them.",
    }


def test_the_charts_draw_a_rate_and_the_steps_of_the_adaptive_limit(run, endpoint):
    Endpoint.objects.filter(pk=endpoint.pk).update(requests_per_minute=600)
    limit(run, requests_per_minute=120)
    assert said(run)["rate_limit"] == 2.0
    limit(run)
    assert said(run)["rate_limit"] == 10.0
    key = f"endpoint:{endpoint.pk}/sim-small"
    for second, before, after in ((1, 20, 40), (3, 40, 32)):
        data = {"key": key, "before": before, "after": after, "second": second, "reason": "r"}
        run.events.create(kind="limit", message="moved", data={**data, "model": "m"})
    Run.objects.filter(pk=run.pk).update(state=RunState.COMPLETED, ended=run.started)
    assert said(run)["limit_steps"] == [[0, 20], [1, 40], [3, 32]]


def test_the_last_answers_busy_workers_none_at_all_and_a_paused_endpoint(settings, run, endpoint):
    work(run, endpoint, 5)
    told = "Nothing limits it: it waits for the last answers of the run."
    last = {"cause": "last_answers", "limit": None, "model": "", "text": told}
    assert said(run)["limited_by"] == last
    Chunk.objects.create(run=run, start=0, trials=[[0, 0, 0, 0]], state=ChunkState.PENDING)
    assert said(run)["limited_by"]["cause"] == "workers"
    assert "Start another with manage.py work." in said(run)["text"]["limited_by"]
    Run.objects.filter(pk=run.pk).update(reason="Waiting: endpoint simulated is paused")
    assert said(run)["limited_by"]["text"].startswith("Endpoint simulated is paused.")
    Run.objects.filter(pk=run.pk).update(reason="")
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.delete(BEATS)
    forget_troubles()
    told = "No worker is running: start one with manage.py work."
    assert said(run)["limited_by"]["text"] == told


def test_page_and_api_have_the_sentence_only_while_the_run_goes_on(run, endpoint, bob):
    work(run, endpoint, 30)
    text = "Limited by simulated&#x27;s 20 calls at once."
    assert text in client_of(bob).get(reverse("run", args=[run.pk])).text
    asker = Asker(bob)
    for path in ("/runs", f"/runs/{run.pk}"):
        answer = asker.get(path).json()
        [facts] = answer.get("data", [answer])
        assert facts["limited_by"]["cause"] == "endpoint_slots"
        assert facts["limited_by"]["limit"] == 20
    for state in (RunState.PAUSED, RunState.COMPLETED, RunState.CANCELLED):
        Run.objects.filter(pk=run.pk).update(state=state)
        assert said(run)["limited_by"] is None
        assert said(run)["text"]["limited_by"] == ""
