"""Rerunning chosen trials, through the API."""

import pytest

from runs.models import Chunk, ChunkState, Run
from runs.selectors.case_sources import positions_of

pytestmark = pytest.mark.django_db


def ask(asker, run, **body):
    return asker.post(f"/runs/{run.pk}/rerun", body)


def test_failed_trials_become_a_new_run_that_names_its_origin(asker, run):
    answer = ask(asker, run, status="failed")
    assert answer.status_code == 202
    new = Run.objects.get(pk=answer.json()["id"])
    assert answer["Location"] == f"/api/v1/runs/{new.pk}"
    assert answer.json() == {"id": new.pk, "in_place": False, "trials": 1}
    assert list(positions_of(new)) == [1]
    shown = asker.get(f"/runs/{new.pk}").json()
    assert (shown["rerun_of"], shown["rerun_what"]) == (run.pk, "1 failed trial")


def test_named_trials_are_run_again_in_place(asker, run):
    trials = [[0, 0, 0, 0], [1, 0, 1, 0]]
    Chunk.objects.create(run=run, start=0, trials=trials, state=ChunkState.DONE)
    answer = ask(asker, run, trials=[0], in_place=True)
    assert answer.json() == {"id": run.pk, "in_place": True, "trials": 1}
    assert list(run.scores.values_list("position", flat=True)) == [1]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 409),
        ({"trials": [77]}, 409),
        ({"trials": [-1]}, 422),
        ({"trials": list(range(1001))}, 422),
        ({"status": "odd"}, 422),
        ({"candidate": "nobody"}, 422),
        ({"status": "wrong", "cache": "off"}, 422),
    ],
)
def test_what_cannot_be_rerun_is_refused_and_starts_nothing(asker, run, body, status):
    assert ask(asker, run, **body).status_code == status
    assert Run.objects.count() == 1
