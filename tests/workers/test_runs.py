"""Runs through real workers: Dramatiq, Redis, the database and HTTP."""

import hashlib
import json
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.db.models import Sum
from django.utils import timezone

from runs.models import CachedReply, Chunk, ChunkState, Run, RunSample, RunState, Score
from runs.selectors.worker_beats import count_workers
from runs.services.runs import cancel_run, create_run
from tests.harness.patience import wait_until
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


def table_hash(run: Run) -> str:
    rows = run.scores.order_by("position").values_list(
        "position", "candidate__key", "case__position", "repeat", "value", "error_class", "answer"
    )
    return hashlib.sha256(json.dumps(list(rows)).encode()).hexdigest()


def check_counters(run: Run) -> None:
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


def test_a_run_is_executed_scored_and_counted(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=20, gather=12)
    with running_worker():
        run = finish(create_run(ada, document))
    assert run.state == RunState.COMPLETED
    assert (run.planned, run.done, run.failed, run.calls_sent) == (120, 120, 0, 120)
    check_counters(run)
    ledger = simulator.ledger()
    assert ledger["total"] == 120
    assert ledger["peak_in_flight"] == 12
    assert run.peak_in_flight <= 12
    assert not run.chunks.exclude(state=ChunkState.DONE).exists()
    assert CachedReply.objects.count() == 120


def test_a_second_run_is_served_from_the_cache(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    with running_worker():
        first = finish(create_run(ada, document))
        second = finish(create_run(ada, document))
    assert simulator.ledger()["total"] == 120
    assert (second.cached, second.calls_sent, second.done) == (120, 0, 120)
    assert table_hash(first) == table_hash(second)


def test_answers_cut_at_max_tokens_are_marked_also_when_they_come_from_the_cache(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    short = {"endpoint": "simulated", "model": "sim-small", "parameters": {"max_tokens": 2}}
    document |= {"models": [short], "prompts": [{"name": "chatty", "system": "Be chatty."}]}
    document["answers"] = {"score_truncated": True}
    with running_worker():
        first = finish(create_run(ada, document))
        second = finish(create_run(ada, document))
    assert (first.truncated, first.failed) == (20, 0)
    assert (second.truncated, second.cached) == (20, 20)
    check_counters(first)
    check_counters(second)


def test_a_run_whose_answers_are_all_cut_pauses_and_says_what_to_do(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    short = {"endpoint": "simulated", "model": "sim-small", "parameters": {"max_tokens": 2}}
    document |= {"models": [short], "prompts": [{"name": "chatty", "system": "Be chatty."}]}
    document |= {
        "repeats": 3,
        "limits": {"max_concurrent": 2},
    }  # of 60 trials
    run = create_run(ada, document)

    def is_paused() -> bool:
        run.refresh_from_db()
        return run.state == RunState.PAUSED

    with running_worker():
        wait_until(is_paused)
    assert "failed with “truncated”: The answer was cut off at max_tokens = 2." in run.reason
    assert "answers.score_truncated: true" in run.reason
    assert (run.scored, run.truncated) == (0, run.done)
    assert run.done < 60
    assert not CachedReply.objects.exists()
    assert all(run.scores.values_list("answer", flat=True))


def test_parallel_and_sequential_give_the_same_table(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    document["cache"] = "off"
    with running_worker():
        simulator.change(latency_ms=10, jitter=0.9)
        parallel = finish(create_run(ada, document))
        simulator.change(latency_ms=0)
        document["limits"]["max_concurrent"] = 1
        sequential = finish(create_run(ada, document))
    assert simulator.ledger()["total"] == 240
    assert table_hash(parallel) == table_hash(sequential)


def test_failed_calls_are_shown_counted_and_not_cached(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    document["models"] = ["simulated/sim-small", "simulated/sim-large:400"]
    with running_worker():
        run = finish(create_run(ada, document))
    assert run.state == RunState.COMPLETED_WITH_ERRORS
    assert (run.done, run.failed, run.scored) == (120, 60, 60)
    check_counters(run)
    failed = run.scores.exclude(error_class="")
    assert set(failed.values_list("error_class", "value")) == {("refused", None)}
    assert CachedReply.objects.count() == 60


def test_a_cancelled_run_stops_and_keeps_what_it_has(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(hold_after=60)  # of 600: it cannot end meanwhile
    document["repeats"] = 5
    with running_worker():
        run = create_run(ada, document)
        wait_until(lambda: Score.objects.filter(run=run).exists())
        wait_until(lambda: simulator.ledger()["total"] == 60 + 12)  # all of its slots are held
        assert cancel_run(run)
        wait_until(lambda: simulator.ledger()["in_flight"] == 0)
    assert simulator.ledger()["total"] == 60 + 12
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert 0 < run.done < run.planned
    check_counters(run)
    assert not cancel_run(run)


def test_a_stopped_worker_gives_its_chunks_back_and_the_next_one_finishes(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    document |= {"cache": "off", "repeats": 3}
    with running_worker():
        undisturbed = finish(create_run(ada, document))
    simulator.change(latency_ms=60)
    with running_worker():
        run = create_run(ada, document)
        wait_until(lambda: Score.objects.filter(run=run).count() > 20)
    assert not Chunk.objects.filter(run=run, state=ChunkState.LEASED).exists()
    with running_worker():
        finish(run)
    assert run.state == RunState.COMPLETED
    check_counters(run)
    assert table_hash(run) == table_hash(undisturbed)


@pytest.mark.late
def test_a_killed_worker_loses_nothing(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    document |= {"cache": "off", "repeats": 3}
    with running_worker():
        undisturbed = finish(create_run(ada, document))
    simulator.change(hold_after=60)
    with running_worker() as worker:
        run = create_run(ada, document)
        leased = Chunk.objects.filter(run=run, state=ChunkState.LEASED)
        wait_until(lambda: Score.objects.filter(run=run).count() > 20 and leased.exists())
        worker.kill()
        worker.join()
    simulator.change(hold_after=None)
    past = timezone.now() - timedelta(seconds=1)  # instead of waiting for the lease's end
    expired = leased.update(lease_until=past)
    assert expired
    with running_worker():
        finish(run)
    assert run.state == RunState.COMPLETED
    check_counters(run)
    assert table_hash(run) == table_hash(undisturbed)
    assert run.chunks.filter(deaths=1).count() == expired
    assert run.events.filter(message__startswith="A worker was lost").count() == 1


def test_messages_lost_with_redis_are_sent_again(
    ada: User, document: dict[str, Any], simulator: SimulatorClient, settings: Any
) -> None:
    run = create_run(ada, document)
    redis.Redis.from_url(settings.REDIS_URL).flushall()
    with running_worker():
        assert finish(run).state == RunState.COMPLETED


def test_a_worker_says_that_it_lives_until_it_is_stopped(ada: User) -> None:
    with running_worker():
        wait_until(lambda: count_workers() == 1)
    assert count_workers() == 0


def test_two_workers_share_one_limit_and_the_work(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=40, gather=12, hold_after=0)
    document["repeats"] = 5
    with running_worker(), running_worker():
        run = create_run(ada, document)
        at_work = run.chunks.filter(state=ChunkState.LEASED)
        # Each takes one chunk for each of its threads, and leaves the others.
        wait_until(lambda: list(Counter(at_work.values_list("owner")).values()) == [4, 4])
        simulator.change(hold_after=None)
        finish(run)
    assert run.state == RunState.COMPLETED
    check_counters(run)
    assert simulator.ledger()["peak_in_flight"] == 12
    assert len(set(run.chunks.values_list("owner"))) == 2


def test_two_runs_share_a_worker(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=5)
    with running_worker():
        runs = [create_run(ada, {**document, "seed": seed}) for seed in range(3)]
        for run in runs:
            assert finish(run).state == RunState.COMPLETED
            check_counters(run)


def test_an_endpoint_that_disappears_fails_the_run_with_the_reason(
    ada: User, document: dict[str, Any], simulator: SimulatorClient, endpoint: Any
) -> None:
    run = create_run(ada, document)
    endpoint.delete()
    with running_worker():
        finish(run)
    assert run.state == RunState.FAILED
    assert "The endpoint 'simulated' was removed" in run.reason


def test_every_schedule_gives_the_same_table(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    document["cache"] = "off"
    document["limits"] |= {"batch_size": 5}
    simulator.change(latency_ms=20)
    with running_worker(), running_worker():
        usual = finish(create_run(ada, document))
        simulator.reset()
        simulator.change(gather=10)
        document["limits"] |= {"schedule": "two_level"}
        two_level = finish(create_run(ada, document))
    assert simulator.ledger()["peak_in_flight"] == 10  # 12 slots: 2 candidates x 5 cases
    assert table_hash(two_level) == table_hash(usual)
    check_counters(two_level)
