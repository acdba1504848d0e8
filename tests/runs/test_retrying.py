"""Retrying through the doors: what is put back, what is counted, what is refused."""

import pytest
from django.urls import reverse

from runs.models import Chunk, ChunkState, Run, RunState, Score
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.control.retrying import rerun_trial, retry_failed
from tests.harness.factories import (
    add_score,
    client_of,
    make_dataset,
    make_endpoint,
    make_run,
)

pytestmark = pytest.mark.django_db

FAILED = {"error_class": "timeout", "error_message": "No full answer within 5 s."}


@pytest.fixture
def run(alice):
    """Six trials in three chunks; trials 1, 2 and 5 failed; the last chunk is still at work."""
    make_endpoint()
    dataset = make_dataset(alice, rows=6)
    totals = {"done": 6, "failed": 3, "scored": 3, "value_sum": 3.0, "value_square_sum": 3.0}
    run = make_run(alice, dataset, state=RunState.COMPLETED_WITH_ERRORS, **totals, planned=6)
    run.candidates.update(**totals)
    for start, state in ((0, ChunkState.DONE), (2, ChunkState.DONE), (4, ChunkState.LEASED)):
        trials = [[start, 0, start, 0], [start + 1, 0, start + 1, 0]]
        Chunk.objects.create(run=run, start=start, trials=trials, state=state, token=1)
    for position in range(6):
        case = dataset.cases.get(position=position)
        fields = FAILED if position in {1, 2, 5} else {}
        add_score(run, case, run.candidates.get(), position, **fields)
    return run


def states(run: Run) -> list[str]:
    return list(run.chunks.order_by("start").values_list("state", flat=True))


def positions(run: Run) -> list[int]:
    return list(run.scores.values_list("position", flat=True))


def test_failed_trials_of_closed_chunks_are_put_back(run, alice):
    assert retry_failed(run, alice) == 2
    assert positions(run) == [0, 3, 4, 5]
    assert states(run) == [ChunkState.PENDING, ChunkState.PENDING, ChunkState.LEASED]
    run.refresh_from_db()
    assert (run.state, run.ended, run.done, run.failed, run.scored) == (
        RunState.RUNNING,
        None,
        4,
        1,
        3,
    )
    assert run.candidates.get().failed == 1
    assert run.events.last().message == "alice retried 2 failed trials."
    assert retry_failed(run, alice) == 0


def test_one_trial_is_run_again_and_no_longer_counted(run, alice):
    assert rerun_trial(run, alice, 3)
    assert positions(run) == [0, 1, 2, 4, 5]
    run.refresh_from_db()
    assert (run.done, run.scored, run.value_sum, run.failed) == (5, 2, 2.0, 3)
    assert not rerun_trial(run, alice, 3)


def test_what_a_worker_still_has_is_left_to_it(run, alice):
    assert not rerun_trial(run, alice, 4)
    assert Score.objects.filter(run=run, position=4).exists()


@pytest.mark.parametrize("state", [RunState.CANCELLED, RunState.FAILED])
def test_a_run_that_was_stopped_does_not_go_on(run, alice, state):
    Run.objects.filter(pk=run.pk).update(state=state)
    answer = client_of(alice).post(
        reverse("api:run_retry", args=[run.pk]), content_type="application/json"
    )
    assert answer.status_code == 409
    assert "Duplicate it" in answer.json()["problems"][0]["message"]
    assert not take_snapshot(Run.objects.get(pk=run.pk))["can_retry"]
    assert positions(run) == list(range(6))


def test_a_paused_run_stays_paused(run, alice):
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, ended=None)
    assert retry_failed(run, alice) == 2
    assert Run.objects.get(pk=run.pk).state == RunState.PAUSED


def test_the_doors_answer(run, alice):
    browser = client_of(alice)
    answer = browser.post(reverse("trial_rerun", args=[run.pk, 0]), follow=True)
    assert answer.status_code == 200
    assert positions(run) == [1, 2, 3, 4, 5]
    assert "Retry failed" in browser.get(run.get_absolute_url()).content.decode()
    answer = browser.post(reverse("api:run_retry", args=[run.pk]), content_type="application/json")
    assert answer.json() == {"applied": True, "changed": True, "trials": 1}  # 1 waits with 0
    assert browser.post(reverse("run_retry", args=[run.pk])).status_code == 302
    assert positions(run) == [1, 3, 4, 5]
