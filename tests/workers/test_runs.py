"""Runs through real workers: Dramatiq, Redis, the database and HTTP."""

from collections import Counter

import pytest
from django.db.models import Sum

from runs.models import CachedReply, ChunkState, Endpoint, RunSample, RunState, Score
from runs.selectors.worker_beats import count_workers
from runs.services.runs import create_run
from tests.conftest import shared_redis
from tests.harness.patience import wait_until
from tests.workers.working import finish, paused, running_worker

pytestmark = pytest.mark.django_db(transaction=True)


def table_of(run):
    columns = ("candidate__key", "case__position", "repeat", "value", "error_class", "answer")
    return list(run.scores.order_by("position").values_list("position", *columns))


def check_counters(run):
    """The counters equal what a query over the scores says, exactly."""
    scores = Score.objects.filter(run=run)
    assert run.done == scores.count()
    assert run.failed == scores.exclude(error_class="").count()
    assert run.scored == scores.filter(error_class="").count()
    assert run.cached == scores.filter(cached=True).count()
    assert run.truncated == scores.filter(truncated=True).count()
    assert run.truncated == sum(c.truncated for c in run.candidates.all())
    assert run.value_sum == pytest.approx(scores.aggregate(Sum("value"))["value__sum"] or 0)
    assert sum(c.done for c in run.candidates.all()) == run.done
    totals = RunSample.objects.filter(run=run).aggregate(Sum("fresh"), Sum("cached"), Sum("failed"))
    assert sum(value or 0 for value in totals.values()) == run.done


@pytest.fixture
def cut(document):
    """20 trials whose answers are longer than two tokens."""
    short = {"endpoint": "simulated", "model": "sim-small", "parameters": {"max_tokens": 2}}
    prompts = [{"name": "chatty", "system": "Be chatty."}]
    return {**document, "models": [short], "prompts": prompts}


def test_a_run_is_executed_and_counted_and_the_next_served_from_the_cache(alice, both, simulator):
    simulator.change(latency_ms=20, gather=12)
    with running_worker():
        run = finish(create_run(alice, both))
        again = finish(create_run(alice, both))
        ledger = simulator.ledger()
        simulator.change(gather=None)
        models = ["simulated/sim-small", "simulated/sim-large:400"]
        refused = finish(create_run(alice, {**both, "models": models}))
    assert run.state == RunState.COMPLETED
    assert (run.planned, run.done, run.failed, run.calls_sent) == (40, 40, 0, 40)
    check_counters(run)
    assert (ledger["total"], ledger["peak_in_flight"]) == (40, 12)
    assert run.peak_in_flight <= 12
    assert not run.chunks.exclude(state=ChunkState.DONE).exists()
    assert (again.cached, again.calls_sent, again.done) == (40, 0, 40)
    assert table_of(again) == table_of(run)
    # Failed calls are shown and counted, and not cached.
    assert refused.state == RunState.COMPLETED_WITH_ERRORS
    assert (refused.done, refused.failed, refused.scored) == (40, 20, 20)
    assert (refused.calls_sent, refused.calls_retried) == (20, 0)
    check_counters(refused)
    failed = refused.scores.exclude(error_class="")
    assert set(failed.values_list("error_class", "value")) == {("refused", None)}
    assert CachedReply.objects.count() == 40


def test_cut_answers_are_marked_and_pause_a_run_that_may_not_score_them(alice, cut, simulator):
    """Also where they come from the cache, in which those that are not scored are not."""
    scored = {**cut, "answers": {"score_truncated": True}}
    with running_worker():
        run = paused(create_run(alice, {**cut, "repeats": 3, "limits": {"max_concurrent": 2}}))
        assert not CachedReply.objects.exists()
        first = finish(create_run(alice, scored))
        second = finish(create_run(alice, scored))
    assert (first.truncated, first.failed) == (20, 0)
    assert (second.truncated, second.cached) == (20, 20)
    check_counters(first)
    check_counters(second)
    assert "failed with “truncated”: The answer was cut off at max_tokens = 2." in run.reason
    assert "answers.score_truncated: true" in run.reason
    assert (run.scored, run.truncated) == (0, run.done)
    assert run.done < 60
    assert all(run.scores.values_list("answer", flat=True))


def test_whatever_is_at_once_gives_the_same_table(alice, both, simulator):
    both["cache"] = "off"
    limits = both["limits"] | {"batch_size": 5}
    simulator.change(latency_ms=10, jitter=0.9)
    with running_worker(), running_worker():
        parallel = finish(create_run(alice, both))
        simulator.change(latency_ms=0)
        one = {**both["limits"], "max_concurrent": 1}
        sequential = finish(create_run(alice, {**both, "limits": one}))
        assert simulator.ledger()["total"] == 80
        simulator.reset()
        simulator.change(latency_ms=20, gather=10)
        split = {**limits, "schedule": "two_level"}
        two_level = finish(create_run(alice, {**both, "limits": split}))
    assert simulator.ledger()["peak_in_flight"] == 10  # 12 slots: 2 candidates x 5 cases
    assert table_of(parallel) == table_of(sequential) == table_of(two_level)
    check_counters(two_level)


def test_a_run_without_limits_is_as_fast_as_its_endpoint_lets(alice, document, endpoint, simulator):
    Endpoint.objects.filter(pk=endpoint.pk).update(max_concurrent=33, adaptive=False)
    simulator.change(latency_ms=20, gather=33)
    document["limits"] = {"detailed_performance_logging": True, "timeout_seconds": 600}
    document["models"] = ["simulated/sim-small"]
    with running_worker():
        run = finish(create_run(alice, document))
    assert run.state == RunState.COMPLETED
    assert simulator.ledger()["peak_in_flight"] == 33
    told = run.events.get(message__startswith="Performance: ").message
    assert "60 calls in " in told
    assert "latency p50 " in told
    assert "0 cache hits (0.0 %)" in told
    assert " % of 33 calls at once used on average" in told
    assert "no call was throttled" in told


def test_messages_lost_with_redis_are_sent_again_and_an_endpoint_that_is_gone_fails_its_run(
    alice, few, simulator
):
    second = Endpoint.objects.create(name="second", kind="simulated")
    run, lost = (
        create_run(alice, {**few, "models": [f"{name}/sim-small"]})
        for name in ("simulated", "second")
    )
    shared_redis().flushall()
    second.delete()
    with running_worker():
        wait_until(lambda: count_workers() == 1)  # it says that it lives, until it is stopped
        assert finish(run).state == RunState.COMPLETED
        assert finish(lost).state == RunState.FAILED
    assert "The endpoint 'second' was removed" in lost.reason
    assert count_workers() == 0


@pytest.mark.postgresql("claims: two workers lease chunks of one run at the same time")
def test_two_workers_share_one_limit_and_the_work(alice, few, simulator):
    simulator.change(latency_ms=40, gather=12, hold_after=0)
    few["repeats"] = 5
    with running_worker(), running_worker():
        run = create_run(alice, few)
        at_work = run.chunks.filter(state=ChunkState.LEASED)
        # Each takes one chunk for each of its threads, and leaves the others.
        wait_until(lambda: list(Counter(at_work.values_list("owner")).values()) == [4, 4])
        simulator.change(hold_after=None)
        finish(run)
    assert run.state == RunState.COMPLETED
    check_counters(run)
    assert simulator.ledger()["peak_in_flight"] == 12
    assert len(set(run.chunks.values_list("owner"))) == 2
