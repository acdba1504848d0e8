"""What the endpoints pages show of the use: read from a real Redis, as the workers write it."""

import pytest
import redis
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
from tests.harness.factories import client_of, make_dataset, make_person, make_run
from tests.runs.conftest import exchange
from workers.engine.throttling.permits import Demand, Quota, Report

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("still_permits")]


@pytest.fixture
def run(bob, endpoint):
    return make_run(bob, make_dataset(bob), state=RunState.RUNNING, ended=None)


def quota_of(endpoint, run, **changes):
    given = {"group": str(run.pk), "is_adaptive": True, "is_guarded": True}
    key = f"endpoint:{endpoint.pk}/sim-small"
    return Quota(key, endpoint.max_concurrent, **{**given, **changes})


def small(endpoint, visible=frozenset()):
    return next(m for m in use_of(endpoint, set(visible)).uses[0].models if m.model == "sim-small")


def test_an_endpoint_nobody_calls_is_idle_and_many_idle_models_are_folded(endpoint):
    board = use_of(endpoint, set())
    assert board.is_known
    assert [model.condition.text for model in board.uses[0].models] == ["Idle", "Idle"]
    assert small(endpoint).in_flight_meter.text == "0 of 20"
    assert not board.has_tokens
    Endpoint.objects.filter(pk=endpoint.pk).update(model_names=[f"m-{i}" for i in range(30)])
    endpoint.refresh_from_db()
    (use,) = use_of_all([endpoint], set()).uses
    assert (len(use.models), use.idle) == (4, 26)
    assert len(use_of(endpoint, set()).uses[0].models) == 30


def test_calls_in_flight_are_counted_over_workers_and_told_by_run(settings, endpoint, run):
    """Runs of others are not named, and calls of a dead worker do not count."""
    exchange((quota_of(endpoint, run),), Demand((0,), 5), "one")
    exchange((quota_of(endpoint, run),), Demand((0,), 3), "two")
    use = small(endpoint, {run.pk})
    assert (use.in_flight, use.condition.text) == (8, "Working")
    assert use.runs == [(run.pk, "first try", 8)]
    assert small(endpoint).runs == [(None, "1 of other people", 8)]
    key = f"permits:expires:endpoint:{endpoint.pk}/sim-small"
    redis.Redis.from_url(settings.REDIS_URL).zadd(key, {f"{run.pk}|two": 1})
    assert small(endpoint).in_flight == 5


def test_calls_and_429s_of_the_last_minute_and_the_cut_limit(endpoint, run):
    quota = quota_of(endpoint, run)
    exchange((quota,), Demand((0,), 20))
    exchange((quota,), Demand((0,), 0, 0, Report(good=6, throttled=4, pause_seconds=30.0)))
    use = small(endpoint)
    assert (use.state.calls, use.state.throttled, use.limit_now) == (10, 4, 16)
    assert (use.limit_mark, use.condition.text) == (80.0, "Told to wait")


def test_tokens_are_shown_where_limited_and_a_providers_stricter_limits(endpoint, run):
    endpoint.tokens_per_minute = 10_000
    quota = quota_of(endpoint, run, tokens_per_minute=10_000, is_adaptive=False)
    assert exchange((quota,), Demand((0,), 1, 100)).permits == 1
    exchange((quota,), Demand((0,), 0, 100, Report(good=1, tokens=50)))
    board = use_of(endpoint, set())
    assert board.has_tokens
    assert board.uses[0].models[0].state.tokens == 150
    endpoint.requests_per_minute = 1000
    report = Report(good=1, told_requests_per_minute=600)
    exchange((quota_of(endpoint, run),), Demand((0,), 0, 0, report))
    assert small(endpoint).requests_meter.limit == 600
    assert small(endpoint).told == "The provider allows 600 requests a minute."


def test_an_open_breaker_is_told_and_reset_once(endpoint, run, ada):
    exchange((quota_of(endpoint, run),), Demand((0,), 5))
    exchange((quota_of(endpoint, run),), Demand((0,), 0, 0, Report(troubled=5, row=5)))
    Run.objects.filter(pk=run.pk).update(reason="simulated/sim-small fails; it is tried again.")
    assert small(endpoint).condition.text == "Failing"
    assert exchange((quota_of(endpoint, run),), Demand((0,), 1)).permits == 0
    assert reset_breaker(ada, endpoint) == 1
    assert small(endpoint).condition.text == "Idle"
    assert exchange((quota_of(endpoint, run),), Demand((0,), 1)).permits == 1
    run.refresh_from_db()
    assert run.reason == ""
    told = "Endpoint simulated: calls are tried again now, asked for by ada."
    assert run.events.get().message == told
    assert reset_breaker(ada, endpoint) == 0
    assert run.events.get().message == told  # what is not broken is no event


def test_a_pause_is_kept_and_what_was_learnt_with_it(endpoint, run, ada):
    exchange((quota_of(endpoint, run),), Demand((0,), 20))
    exchange((quota_of(endpoint, run),), Demand((0,), 0, 0, Report(throttled=1)))
    grant = exchange((quota_of(endpoint, run)._replace(max_concurrent=0),), Demand((0,), 5))
    assert (grant.permits, grant.changes) == (0, ())
    assert exchange((quota_of(endpoint, run),), Demand((0,), 20)).permits == 16


def test_without_redis_the_use_is_unknown(settings, endpoint, ada):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert not use_of_all([endpoint], set()).is_known
    assert "Redis does not answer" in client_of(ada).get(reverse("endpoints")).text
    with pytest.raises(RedisAway, match="Try again"):
        reset_breaker(ada, endpoint)


def test_pausing_tells_the_runs_that_wait(endpoint, run, ada):
    assert pause_endpoint(ada, endpoint)
    run.refresh_from_db()
    assert run.reason == "Waiting: endpoint simulated is paused"
    assert small(endpoint).condition.text == "Paused"
    assert not pause_endpoint(ada, endpoint)
    assert resume_endpoint(ada, endpoint)
    run.refresh_from_db()
    assert run.reason == ""
    assert not resume_endpoint(ada, endpoint)
    pause_endpoint(ada, endpoint)
    Run.objects.filter(pk=run.pk).update(reason="Something else.")
    resume_endpoint(ada, endpoint)
    assert Run.objects.get(pk=run.pk).reason == "Something else."


def test_only_operators_may_stop_or_free_an_endpoint(endpoint, bob):
    assert "Right now" in client_of(bob).get(endpoint.get_absolute_url()).text
    for act in (pause_endpoint, resume_endpoint, reset_breaker):
        with pytest.raises(PermissionDenied, match="needs the role operator"):
            act(bob, endpoint)


def test_the_buttons_work_without_scripts_and_saving_the_form_resumes_nothing(endpoint, ada):
    client = client_of(ada)
    form = client.get(endpoint.get_absolute_url()).context["form"]
    for name, is_paused in (
        ("endpoint_pause", True),
        ("endpoint_resume", False),
        ("endpoint_pause", True),
    ):
        answer = client.post(reverse(name, args=[endpoint.pk]), follow=True)
        assert answer.status_code == 200
        assert Endpoint.objects.get(pk=endpoint.pk).is_paused is is_paused
        assert ("Resume</button>" in answer.text) is is_paused
    typed = {name: form[name].value() or "" for name in form.fields if name != "new_key"}
    typed |= {"model_names": "sim-small", "max_concurrent": "5", "prices": "", "more_urls": ""}
    assert client.post(endpoint.get_absolute_url(), typed).status_code == 302
    stored = Endpoint.objects.get(pk=endpoint.pk)
    assert (stored.max_concurrent, stored.is_paused) == (5, True)


def test_a_part_brings_rows_and_no_page_and_no_run_of_others(endpoint, run, bob):
    exchange((quota_of(endpoint, run),), Demand((0,), 5))
    for address in (reverse("endpoints_use"), reverse("endpoint_use", args=[endpoint.pk])):
        page = client_of(bob).get(address).text
        assert ("<html" in page, "5 of 20" in page) == (False, True)
        assert run.get_absolute_url() in page
    page = client_of(make_person("eve")).get(reverse("endpoints")).text
    assert run.get_absolute_url() not in page
    assert ("first try" in page, "1 of other people" in page) == (False, True)
