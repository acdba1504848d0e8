"""Deleting runs: counted first, undone for a while, then removed a few rows at a time."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils.timezone import now

from runs.models import AuditAction, AuditEntry, CachedReply, Run, RunState, Score
from runs.roles import Role
from runs.services.control.retrying import retry_failed
from runs.services.removing import retention
from runs.services.removing.archiving import InUseError
from runs.services.removing.run_trash import delete_run, remove_due, restore_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_person, make_run
from tests.runs.test_retention import full_run, rows
from tests.runs.test_run_marks import listed, told
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

SEVERAL = "runs_several"


def pass_the_time(run):
    Run.objects.filter(pk=run.pk).update(remove_after=now() - timedelta(seconds=1))


def test_the_page_says_what_goes_and_what_stays_before_anything_does(alice, dataset):
    first, second = full_run(alice, dataset, "a"), full_run(alice, dataset, "b")
    live = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    chosen = {"do": "delete", "run": [first.pk, second.pk, live.pk]}
    page = client_of(alice).get(reverse(SEVERAL), chosen).content.decode()
    assert "Delete 2 runs" in page
    assert "2 runs, 6 scores, 6 records" in page
    assert "2 cached answers that they paid for stay" in page
    assert "It has not ended. Cancel it first." in page
    assert Run.objects.filter(archived=None).count() == 3


def test_what_is_deleted_leaves_the_lists_and_can_be_brought_back(alice, dataset):
    run, kept = full_run(alice, dataset, "a"), make_run(alice, dataset)
    client, before = client_of(alice), rows()
    page = client.post(reverse(SEVERAL), {"do": "delete", "run": run.pk}, follow=True)
    undo = f"/runs/several/?do=restore&amp;run={run.pk}"
    assert undo in page.content.decode()
    assert (listed(alice), told(alice)) == ([kept.pk], [kept.pk])
    assert (listed(alice, state="deleted"), told(alice, archived="true")) == ([run.pk], [run.pk])
    assert "This run is deleted" in client.get(reverse("run", args=[run.pk])).content.decode()
    assert not remove_due(), "its time has not come"
    assert rows() == before
    client.post(reverse(SEVERAL), {"do": "restore", "run": run.pk})
    assert listed(alice) == [kept.pk, run.pk]
    assert Run.objects.get(pk=run.pk).remove_after is None


def test_archived_runs_stand_under_archived_alone(alice, dataset):
    run, other = make_run(alice, dataset), make_run(alice, dataset)
    client_of(alice).post(reverse(SEVERAL), {"do": "archive", "run": [run.pk, other.pk]})
    page = client_of(alice).get(reverse("runs"))
    assert ("Every run is archived" in page.text, page.context["counters"].today) == (True, 0)
    assert listed(alice, state="archived") == [other.pk, run.pk]
    assert listed(alice, state="deleted") == []


def test_after_its_time_a_run_goes_in_small_steps_and_its_answers_stay(
    alice, dataset, set_constant
):
    set_constant(retention, "BATCH", 2)
    run, kept = full_run(alice, dataset, "a"), full_run(alice, dataset, "b")
    delete_run(run, alice)
    pass_the_time(run)
    left = []
    while remove_due():
        left.append(Score.objects.filter(run=run.pk).count())
    assert left == sorted(left, reverse=True)
    assert len(left) > 5, "one step took too much"
    assert not Run.objects.filter(pk=run.pk).exists()
    assert Score.objects.filter(run=kept).count() == 3
    assert CachedReply.objects.get(key="a" * 64).run is None
    assert AuditEntry.objects.filter(action=AuditAction.RUN_REMOVED, subject_id=run.pk).count() == 1


def test_a_removal_that_has_begun_cannot_be_undone_nor_retried(alice, dataset):
    run = full_run(alice, dataset, "a", failed=1)
    delete_run(run, alice)
    with pytest.raises(ConfigurationError, match="deleted"):
        retry_failed(run, alice)
    pass_the_time(run)
    with pytest.raises(InUseError, match="being removed"):
        restore_run(run, alice)
    assert Asker(alice).patch(f"/runs/{run.pk}", {"archived": False}).status_code == 409


def test_by_rest_it_is_counted_deleted_and_brought_back(alice, dataset):
    run = full_run(alice, dataset, "a")
    asker = Asker(alice)
    counted = asker.ask("delete", f"/runs/{run.pk}?dry_run=true").json()
    assert (counted["applied"], counted["removed"]["scores"]) == (False, 3)
    assert counted["cached_answers_kept"] == 1
    assert asker.ask("delete", f"/runs/{run.pk}").json()["remove_after"]
    assert not asker.ask("delete", f"/runs/{run.pk}").json()["changed"]
    assert asker.patch(f"/runs/{run.pk}", {"archived": False}).json()["changed"]
    assert told(alice) == [run.pk]
    Run.objects.update(state=RunState.RUNNING, ended=None)
    assert asker.ask("delete", f"/runs/{run.pk}").status_code == 409


def test_runs_of_others_are_left_alone_whatever_is_ticked(alice, dataset, bob):
    hidden, shared = make_run(alice, dataset), make_run(alice, dataset, is_shared=True)
    client = client_of(bob)
    chosen: Any = {"do": "delete", "run": [hidden.pk, shared.pk]}
    page = client.get(reverse(SEVERAL), chosen).content.decode()
    assert f"#{hidden.pk}" not in page
    assert "Only alice and operators may change this run." in page
    client.post(reverse(SEVERAL), chosen)
    assert Run.objects.filter(archived=None).count() == 2
    operator = client_of(make_person("olga", role=Role.OPERATOR))
    operator.post(reverse(SEVERAL), chosen)
    assert Run.objects.filter(archived=None).count() == 0


def test_ticked_runs_are_tagged_cancelled_and_retried(alice, dataset):
    live = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    done = make_run(alice, dataset)
    client, both = client_of(alice), [live.pk, done.pk]
    client.post(reverse(SEVERAL), {"do": "tag", "run": both, "add": "june, may", "remove": "x"})
    client.post(reverse(SEVERAL), {"do": "tag", "run": [done.pk], "remove": "may"})
    assert listed(alice, tag="may") == [live.pk]
    assert listed(alice, tag="june") == [done.pk, live.pk]
    client.post(reverse(SEVERAL), {"do": "cancel", "run": both})
    assert Run.objects.get(pk=live.pk).state == RunState.CANCELLED
    asked: Any = {"do": "retry", "run": both}
    page = client.get(reverse(SEVERAL), asked).content.decode()
    assert "No trial failed." in page
    assert "A run that was cancelled does not go on." in page
    for query in ({"do": "explode"}, {"do": "delete", "run": ["x", "9" * 30]}, {}):
        assert client.get(reverse(SEVERAL), query).status_code in {200, 404}, "a mangled choice"
