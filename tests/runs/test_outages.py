"""Which runs are given up for a while: no answer for long, and a model that they need fails."""

import asyncio
import time
from datetime import timedelta

import pytest
import redis.asyncio
from django.utils.timezone import now

from runs.models import Run, RunSample, RunState
from runs.services.control.outages import pause_hopeless
from tests.harness.factories import make_dataset, make_endpoint, make_person, make_run
from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.throttling.permits import Demand, LocalPermits, Quota, Report
from workers.redis_permits import RedisPermits

pytestmark = pytest.mark.django_db

LONG = 10.0  # seconds
STILL = -int(PATIENCE_SECONDS)  # seconds ago: until the test is over


@pytest.fixture
def endpoint():
    return make_endpoint()


@pytest.fixture
def run(endpoint):
    alice = make_person("alice")
    begin = now() - timedelta(hours=1)
    return make_run(alice, make_dataset(alice), state=RunState.RUNNING, started=begin, ended=None)


def fail(settings, endpoint, model):
    """What a worker tells of calls that failed: the breaker opens."""
    quota = Quota(f"endpoint:{endpoint.pk}/{model}", 20, is_guarded=True)

    async def talk():
        client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
        permits = RedisPermits(client, "worker", 1, LocalPermits(time.monotonic))
        await permits.exchange((quota,), Demand((0,), 0, 0, Report(troubled=5)))
        await client.aclose()

    asyncio.run(talk())
    key = f"permits:state:endpoint:{endpoint.pk}/{model}"
    long_ago = (time.time() - 3 * LONG) * 1000
    redis.Redis.from_url(settings.REDIS_URL).hset(key, "opened", long_ago)


def state_after(run, seconds=LONG):
    pause_hopeless(seconds)
    return Run.objects.get(pk=run.pk).state


def sample(run, seconds_ago, **counts):
    RunSample.objects.create(run=run, second=3600 - seconds_ago, **counts)


def test_a_run_without_answers_from_a_failing_model_is_paused(settings, endpoint, run):
    fail(settings, endpoint, "sim-small")
    sample(run, 30, fresh=5)
    sample(run, 0, failed=2)
    assert state_after(run, 600) == RunState.RUNNING  # it fails, but not for long
    assert state_after(run) == RunState.PAUSED
    assert Run.objects.get(pk=run.pk).events.filter(level="error").count() == 1


@pytest.mark.parametrize("kind", ["fresh", "cached"])
def test_a_run_that_gets_answers_goes_on(settings, endpoint, run, kind):
    fail(settings, endpoint, "sim-small")
    sample(run, STILL, **{kind: 1})
    assert state_after(run) == RunState.RUNNING


def test_a_failing_model_that_a_run_does_not_need_is_not_its_concern(settings, endpoint, run):
    fail(settings, endpoint, "sim-large")
    assert state_after(run) == RunState.RUNNING


def test_a_model_that_a_run_has_all_answers_of_is_not_needed(settings, endpoint, run):
    fail(settings, endpoint, "sim-small")
    run.candidates.update(done=3)
    assert state_after(run) == RunState.RUNNING


def test_a_resumed_run_has_its_time_again(settings, endpoint, run):
    fail(settings, endpoint, "sim-small")
    Run.objects.filter(pk=run.pk).update(going_since=now() - timedelta(seconds=STILL))
    assert state_after(run) == RunState.RUNNING


def test_a_silent_model_is_waited_for(endpoint, run):
    assert state_after(run) == RunState.RUNNING


def test_who_waits_for_a_paused_endpoint_waits_for_a_person(settings, endpoint, run):
    fail(settings, endpoint, "sim-small")
    Run.objects.filter(pk=run.pk).update(reason="Waiting: endpoint simulated is paused")
    assert state_after(run) == RunState.RUNNING
