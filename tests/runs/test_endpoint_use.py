"""What the endpoints pages show of the use: read from a real Redis, as the workers write it."""

import asyncio
import time

import pytest
import redis
import redis.asyncio
from django.core.exceptions import PermissionDenied
from django.urls import reverse

from runs.models import Endpoint, Run, RunState
from runs.selectors.endpoints.load import use_of, use_of_all
from runs.services.control.endpoint_pauses import (
    RedisAway,
    pause_endpoint,
    reset_breaker,
    resume_endpoint,
)
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person, make_run
from workers.engine.throttling.permits import Demand, LocalPermits, Quota, Report
from workers.redis_permits import RedisPermits

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("still_permits")]


@pytest.fixture
def staff():
    return make_person("ada", staff=True)


@pytest.fixture
def bob():
    return make_person("bob")


@pytest.fixture
def endpoint():
    return make_endpoint()


@pytest.fixture
def run(bob, endpoint):
    return make_run(bob, make_dataset(bob), state=RunState.RUNNING, ended=None)


def exchange(settings, quota, demand, holder="worker"):
    """What a worker would say and get."""

    async def talk():
        client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
        permits = RedisPermits(client, holder, 1, LocalPermits(time.monotonic))
        grant = await permits.exchange((quota,), demand)
        await client.aclose()
        return grant

    return asyncio.run(talk())


def quota_of(endpoint, run, **changes):
    given = {"group": str(run.pk), "is_adaptive": True, "is_guarded": True}
    key = f"endpoint:{endpoint.pk}/sim-small"
    return Quota(key, endpoint.max_concurrent, **{**given, **changes})


def small(endpoint, visible=frozenset()):
    return next(m for m in use_of(endpoint, set(visible)).uses[0].models if m.model == "sim-small")


def test_an_endpoint_nobody_calls_is_idle(endpoint):
    board = use_of(endpoint, set())
    assert board.is_known
    assert [model.condition.text for model in board.uses[0].models] == ["Idle", "Idle"]
    assert small(endpoint).in_flight_meter.text == "0 of 20"
    assert not board.has_tokens


def test_calls_in_flight_are_counted_over_workers_and_told_by_run(settings, endpoint, run):
    exchange(settings, quota_of(endpoint, run), Demand((0,), 5), "one")
    exchange(settings, quota_of(endpoint, run), Demand((0,), 3), "two")
    use = small(endpoint, {run.pk})
    assert (use.in_flight, use.condition.text) == (8, "Working")
    assert use.runs == [(run.pk, "first try", 8)]


def test_runs_of_others_are_counted_but_not_named(settings, endpoint, run):
    exchange(settings, quota_of(endpoint, run), Demand((0,), 5))
    assert small(endpoint).runs == [(None, "1 of other people", 5)]


def test_the_calls_of_a_dead_worker_do_not_count(settings, endpoint, run):
    exchange(settings, quota_of(endpoint, run), Demand((0,), 5))
    key = f"permits:expires:endpoint:{endpoint.pk}/sim-small"
    redis.Redis.from_url(settings.REDIS_URL).zadd(key, {f"{run.pk}|worker": 1})
    assert small(endpoint).in_flight == 0


def test_calls_and_429s_of_the_last_minute_and_the_cut_limit(settings, endpoint, run):
    quota = quota_of(endpoint, run)
    exchange(settings, quota, Demand((0,), 20))
    report = Report(good=6, throttled=4, pause_seconds=30.0)
    exchange(settings, quota, Demand((0,), 0, 0, report))
    use = small(endpoint)
    assert use.state.calls == 10
    assert use.state.throttled == 4
    assert use.limit_now == 16
    assert use.limit_mark == 80.0
    assert use.condition.text == "Told to wait"


def test_tokens_are_shown_where_they_are_limited(settings, endpoint, run):
    endpoint.tokens_per_minute = 10_000
    quota = quota_of(endpoint, run, tokens_per_minute=10_000, is_adaptive=False)
    assert exchange(settings, quota, Demand((0,), 1, 100)).permits == 1
    exchange(settings, quota, Demand((0,), 0, 100, Report(good=1, tokens=50)))
    board = use_of(endpoint, set())
    assert board.has_tokens
    assert board.uses[0].models[0].state.tokens == 150


def test_a_providers_own_limits_are_shown_when_they_are_stricter(settings, endpoint, run):
    endpoint.requests_per_minute = 1000
    report = Report(good=1, told_requests_per_minute=600)
    exchange(settings, quota_of(endpoint, run), Demand((0,), 0, 0, report))
    assert small(endpoint).requests_meter.limit == 600
    assert small(endpoint).told == "The provider allows 600 requests a minute."


@pytest.fixture
def broken(settings, endpoint, run):
    exchange(settings, quota_of(endpoint, run), Demand((0,), 5))
    exchange(settings, quota_of(endpoint, run), Demand((0,), 0, 0, Report(troubled=5)))
    Run.objects.filter(pk=run.pk).update(reason="simulated/sim-small fails; it is tried again.")
    return endpoint


def test_an_open_breaker_is_told_and_reset(settings, broken, run, staff):
    assert small(broken).condition.text == "Failing"
    assert exchange(settings, quota_of(broken, run), Demand((0,), 1)).permits == 0
    assert reset_breaker(staff, broken) == 1
    assert small(broken).condition.text == "Idle"
    assert exchange(settings, quota_of(broken, run), Demand((0,), 1)).permits == 1
    run.refresh_from_db()
    assert run.reason == ""
    assert (
        run.events.get().message
        == "Endpoint simulated: calls are tried again now, asked for by ada."
    )


def test_resetting_what_is_not_broken_is_no_event(endpoint, run, staff):
    assert reset_breaker(staff, endpoint) == 0
    assert not run.events.exists()


def test_a_pause_is_kept_and_what_was_learnt_with_it(settings, endpoint, run, staff):
    exchange(settings, quota_of(endpoint, run), Demand((0,), 20))
    exchange(settings, quota_of(endpoint, run), Demand((0,), 0, 0, Report(throttled=1)))
    paused = quota_of(endpoint, run)._replace(max_concurrent=0)
    grant = exchange(settings, paused, Demand((0,), 5))
    assert (grant.permits, grant.changes) == (0, ())
    assert exchange(settings, quota_of(endpoint, run), Demand((0,), 20)).permits == 16


def test_without_redis_the_use_is_unknown(settings, endpoint, staff):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert not use_of_all([endpoint], set()).is_known
    page = client_of(staff).get(reverse("endpoints")).content.decode()
    assert "Redis does not answer" in page
    with pytest.raises(RedisAway, match="Try again"):
        reset_breaker(staff, endpoint)


def test_many_idle_models_are_folded(endpoint):
    Endpoint.objects.filter(pk=endpoint.pk).update(model_names=[f"m-{i}" for i in range(30)])
    endpoint.refresh_from_db()
    (use,) = use_of_all([endpoint], set()).uses
    assert (len(use.models), use.idle) == (4, 26)
    assert len(use_of(endpoint, set()).uses[0].models) == 30


def test_pausing_tells_the_runs_that_wait(endpoint, run, staff):
    assert pause_endpoint(staff, endpoint)
    run.refresh_from_db()
    assert run.reason == "Waiting: endpoint simulated is paused"
    assert small(endpoint).condition.text == "Paused"
    assert not pause_endpoint(staff, endpoint)
    assert resume_endpoint(staff, endpoint)
    run.refresh_from_db()
    assert run.reason == ""
    assert not resume_endpoint(staff, endpoint)
    assert [event.message for event in run.events.all()] == [
        "Endpoint simulated: resumed by ada.",
        "Endpoint simulated: paused by ada.",
    ]


def test_resuming_leaves_other_reasons_alone(endpoint, run, staff):
    pause_endpoint(staff, endpoint)
    Run.objects.filter(pk=run.pk).update(reason="Something else.")
    resume_endpoint(staff, endpoint)
    assert Run.objects.get(pk=run.pk).reason == "Something else."


@pytest.mark.parametrize("act", [pause_endpoint, resume_endpoint, reset_breaker])
def test_only_operators_may_stop_or_free_an_endpoint(endpoint, bob, act):
    with pytest.raises(PermissionDenied, match="needs the role operator"):
        act(bob, endpoint)


@pytest.mark.parametrize(
    ("name", "expected"), [("endpoint_pause", True), ("endpoint_resume", False)]
)
def test_the_buttons_of_the_page_work_without_scripts(endpoint, staff, name, expected):
    Endpoint.objects.filter(pk=endpoint.pk).update(is_paused=not expected)
    answer = client_of(staff).post(reverse(name, args=[endpoint.pk]), follow=True)
    assert answer.status_code == 200
    assert Endpoint.objects.get(pk=endpoint.pk).is_paused is expected
    assert ("Resume</button>" in answer.content.decode()) is expected


@pytest.mark.parametrize("name", ["endpoint_pause", "endpoint_resume", "endpoint_reset"])
def test_a_member_has_no_such_buttons(endpoint, bob, name):
    client = client_of(bob)
    assert client.post(reverse(name, args=[endpoint.pk])).status_code == 403
    page = client.get(endpoint.get_absolute_url()).content.decode()
    assert reverse(name, args=[endpoint.pk]) not in page
    assert "Right now" in page


def test_saving_the_form_does_not_resume_a_paused_endpoint(endpoint, staff):
    client = client_of(staff)
    form = client.get(endpoint.get_absolute_url()).context["form"]
    pause_endpoint(staff, endpoint)
    typed = {name: form[name].value() or "" for name in form.fields if name != "new_key"}
    typed |= {"model_names": "sim-small", "max_concurrent": "5", "prices": "", "more_urls": ""}
    assert client.post(endpoint.get_absolute_url(), typed).status_code == 302
    stored = Endpoint.objects.get(pk=endpoint.pk)
    assert (stored.max_concurrent, stored.is_paused) == (5, True)


@pytest.mark.parametrize("name", ["endpoints_use", "endpoint_use"])
def test_a_part_brings_the_rows_and_no_page(settings, endpoint, run, bob, name):
    exchange(settings, quota_of(endpoint, run), Demand((0,), 5))
    args = [endpoint.pk] if name == "endpoint_use" else []
    page = client_of(bob).get(reverse(name, args=args)).content.decode()
    assert "<html" not in page
    assert "5 of 20" in page
    assert run.get_absolute_url() in page


def test_the_page_names_no_run_of_a_stranger(settings, endpoint, run):
    exchange(settings, quota_of(endpoint, run), Demand((0,), 5))
    stranger = client_of(make_person("eve"))
    page = stranger.get(reverse("endpoints")).content.decode()
    assert run.get_absolute_url() not in page
    assert "first try" not in page
    assert "1 of other people" in page
