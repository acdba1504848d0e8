"""What is old goes, by command or by the rules of the site: shown before, off unless set."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.urls import reverse
from django.utils.timezone import now

from runs.forms.retention import RetentionForm
from runs.models import (
    AuditAction,
    AuditEntry,
    CachedReply,
    Chunk,
    RetentionRules,
    Run,
    RunEvent,
    RunSample,
    RunState,
    Score,
    ScoreRecord,
)
from runs.roles import Role
from runs.selectors.system import retention as due_rules
from runs.services.control.retrying import retry_failed
from runs.services.organising import star_run
from runs.services.removing import retention, rules
from runs.services.removing.archiving import InUseError
from runs.services.removing.rules import keep_rules
from runs.services.removing.run_trash import delete_run, remove_due, restore_run
from tests.harness.factories import (
    add_cached_reply,
    add_record,
    add_score,
    client_of,
    make_person,
    make_run,
)
from tests.runs.conftest import said_by, show
from tests.runs.test_run_marks import listed, told
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def full_run(owner, dataset, key, **fields):
    run = make_run(owner, dataset, **fields)
    for case in dataset.cases.all():
        add_record(add_score(run, case, run.candidates.get(), case.position), {"steps": [1]})
    Chunk.objects.create(run=run, start=0, trials=[])
    RunSample.objects.create(run=run, second=1)
    RunEvent.objects.create(run=run, message="Started.")
    add_cached_reply(run, key * 64)
    return run


def rows():
    models = (Run, Score, ScoreRecord, Chunk, RunSample, RunEvent, CachedReply)
    return {model.__name__: model.objects.count() for model in models}


@pytest.mark.postgresql("locks and constraints: a run goes in parts, with all that points at it")
def test_a_run_that_ended_long_ago_goes_whole_and_its_answers_stay(alice, dataset, set_constant):
    set_constant(retention, "BATCH", 2)  # three scores: more than one part
    old = full_run(alice, dataset, "a", ended=now() - 100 * DAY)
    kept = full_run(alice, dataset, "b", ended=now() - 10 * DAY)
    told = said_by("prune_runs", older_than_days=90)
    assert told == "1 run with 3 scores. Add --yes to remove it.\n"
    assert rows()["Run"] == 2
    assert said_by("prune_runs", older_than_days=90, yes=True) == "Removed 1 run.\n"
    one = dict.fromkeys(("Run", "Chunk", "RunSample", "RunEvent"), 1)
    assert rows() == {**one, "Score": 3, "ScoreRecord": 3, "CachedReply": 2}
    assert not Run.objects.filter(pk=old.pk).exists()
    assert CachedReply.objects.get(key="a" * 64).run is None
    assert CachedReply.objects.get(key="b" * 64).run == kept


def test_a_run_that_has_not_ended_is_never_removed(alice, dataset):
    for number, state in enumerate(RunState.live()):
        full_run(alice, dataset, str(number), state=state, ended=None, started=now() - 400 * DAY)
    before = rows()
    assert said_by("prune_runs", older_than_days=0, yes=True) == "Removed 0 runs.\n"
    assert rows() == before
    for days in (-1, 40_000):
        with pytest.raises(CommandError, match="Give 0 to 36500"):
            said_by("prune_runs", older_than_days=days, yes=True)


def old_run(owner, dataset, days, **fields):
    return make_run(owner, dataset, ended=now() - days * DAY, **fields)


def act_until_done():
    """As sweeps do, one after the other; how often."""
    return next(times for times in range(50) if not keep_rules())


def save(person, **values):
    return client_of(person).post(reverse("retention"), values)


def test_old_runs_are_announced_then_deleted_but_not_what_is_starred_archived_or_young(
    ada, dataset
):
    old = old_run(ada, dataset, 100)
    assert act_until_done() == 0, "nothing goes by itself unless somebody says so"
    assert "Nothing: no rule is set." in show(ada, "system")
    assert Run.objects.get().archived is None
    young = old_run(ada, dataset, 80)
    starred = old_run(ada, dataset, 100)
    star_run(starred, ada, is_starred=True)
    archived = old_run(ada, dataset, 100, archived=now())
    live = make_run(ada, dataset, state="running", ended=None, started=now() - 200 * DAY)
    save(ada, run_days=90)
    page = show(ada, "system")
    assert "Due now: 1 run." in page
    assert young.ended is not None
    assert (young.ended + 90 * DAY).strftime("%b %Y, %H:%M") in page
    assert Run.objects.get(pk=old.pk).archived is None, "it is only announced"
    act_until_done()
    deleted = Run.objects.filter(remove_after__isnull=False)
    assert list(deleted) == [old]
    assert deleted.filter(remove_after__gt=now()).exists(), "it can be brought back"
    for kept in (young, starred, live):
        assert Run.objects.get(pk=kept.pk).archived is None
    assert Run.objects.get(pk=archived.pk).remove_after is None
    (entry,) = AuditEntry.objects.filter(action=AuditAction.RUN_DELETED)
    assert entry.detail.startswith("ended more than 90 days ago; removed after ")


def test_many_go_in_steps_and_then_the_rules_rest_for_an_hour(ada, dataset, set_constant):
    set_constant(rules, "RUNS_AT_ONCE", 2)
    for _ in range(5):
        old_run(ada, dataset, 10)
    save(ada, run_days=5)
    assert keep_rules()
    assert Run.objects.filter(remove_after=None).count() == 3
    assert act_until_done() == 3  # two, one, and none
    old_run(ada, dataset, 10)
    assert not keep_rules(), "it looked a moment ago"
    RetentionRules.objects.update(looked=now() - due_rules.EVERY - DAY)
    assert keep_rules()
    assert not Run.objects.filter(remove_after=None).exists()


def test_points_of_charts_go_by_age_and_answers_by_age_or_size(ada, dataset, set_constant):
    set_constant(rules, "SAMPLES_AT_ONCE", 2)
    old, young = old_run(ada, dataset, 10), old_run(ada, dataset, 1)
    for run in (old, young):
        RunSample.objects.bulk_create(RunSample(run=run, second=n) for n in range(5))
    add_cached_reply(old, "a" * 64, created=now() - 10 * DAY)
    add_cached_reply(young, "b" * 64)
    save(ada, sample_days=5, cache_days=5)
    page = show(ada, "system")
    assert "Due now: 1 run." in page
    assert "Due now: 1 answer." in page
    act_until_done()
    assert set(RunSample.objects.values_list("run_id", flat=True)) == {young.pk}
    assert list(CachedReply.objects.values_list("key", flat=True)) == ["b" * 64]
    assert AuditEntry.objects.filter(action=AuditAction.SAMPLES_REMOVED).count() == 1
    assert client_of(ada).get(old.get_absolute_url()).status_code == 200
    for number in range(4):
        key, text = f"{number}" * 64, "x" * 500_000
        add_cached_reply(young, key, text=text, created=now() - (9 - number) * DAY)
    CachedReply.objects.filter(key="b" * 64).delete()
    save(ada, cache_megabytes=1)
    assert "Due now: 3 answers." in show(ada, "system")
    act_until_done()
    assert list(CachedReply.objects.values_list("key", flat=True)) == ["3" * 64]


def test_only_administrators_set_the_rules_which_go_before_the_environment(ada, dataset, settings):
    for value in ("-1", "soon", "1.5", "36501"):
        assert not RetentionForm({"run_days": value}).is_valid(), value
    answer = save(ada, run_days="-1")
    assert (answer.status_code, "Nothing was saved." in answer.text) == (400, True)
    assert not RetentionRules.objects.exists()
    page = show(make_person("olga", role=Role.OPERATOR), "system")
    assert ("Administrators set these." in page, "data-retention" in page) == (True, False)
    settings.RETENTION = {**settings.RETENTION, "run_days": 30}
    old_run(ada, dataset, 40)
    assert "Due now: 1 run." in show(ada, "system")
    save(ada, run_days=0)
    assert "Nothing: no rule is set." in show(ada, "system")
    assert act_until_done() == 0
    save(ada, run_days="")
    act_until_done()
    assert Run.objects.get().remove_after


@pytest.mark.usefixtures("data_folder")
def test_the_command_shows_and_sets_the_rules(ada, dataset):
    old_run(ada, dataset, 40)
    assert "Runs, days: kept for ever." in said_by("retention")
    told = said_by("retention", run_days="30", cache_days="0")
    assert "Runs, days: 30. Due now: 1 run." in told
    assert "Looked at next: " in told
    assert RetentionRules.objects.get().cache_days == 0
    assert "Runs, days: kept for ever." in said_by("retention", run_days="default")
    with pytest.raises(CommandError, match="--run-days is 'soon'"):
        said_by("retention", run_days="soon")


# --- Deleting runs: counted first, undone for a while, then removed a few rows at a time

SEVERAL = "runs_several"


def pass_the_time(run):
    Run.objects.filter(pk=run.pk).update(remove_after=now() - timedelta(seconds=1))


def test_the_page_says_what_goes_and_what_stays_before_anything_does(alice, dataset):
    first, second = full_run(alice, dataset, "a"), full_run(alice, dataset, "b")
    live = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    chosen = {"do": "delete", "run": [first.pk, second.pk, live.pk]}
    page = client_of(alice).get(reverse(SEVERAL), chosen).text
    assert "Delete 2 runs" in page
    assert "2 runs, 6 scores, 6 records" in page
    assert "2 cached answers that they paid for stay" in page
    assert "It has not ended. Cancel it first." in page
    assert Run.objects.filter(archived=None).count() == 3


def test_what_is_deleted_or_archived_leaves_the_lists_and_can_be_brought_back(alice, dataset):
    run, kept = full_run(alice, dataset, "a"), make_run(alice, dataset)
    client, before = client_of(alice), rows()
    page = client.post(reverse(SEVERAL), {"do": "delete", "run": run.pk}, follow=True)
    undo = f"/runs/several/?do=restore&amp;run={run.pk}"
    assert undo in page.text
    assert (listed(alice), told(alice)) == ([kept.pk], [kept.pk])
    assert (listed(alice, state="deleted"), told(alice, archived="true")) == ([run.pk], [run.pk])
    assert "This run is deleted" in client.get(reverse("run", args=[run.pk])).text
    assert not remove_due(), "its time has not come"
    assert rows() == before
    client.post(reverse(SEVERAL), {"do": "restore", "run": run.pk})
    assert listed(alice) == [kept.pk, run.pk]
    assert Run.objects.get(pk=run.pk).remove_after is None
    client.post(reverse(SEVERAL), {"do": "archive", "run": [run.pk, kept.pk]})
    page = client.get(reverse("runs"))
    assert ("Every run is archived" in page.text, page.context["counters"].today) == (True, 0)
    assert listed(alice, state="archived") == [kept.pk, run.pk]
    assert listed(alice, state="deleted") == []


def test_after_its_time_a_run_goes_in_steps_and_its_answers_stay(alice, dataset, set_constant):
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


def test_by_rest_it_is_counted_deleted_and_brought_back_before_its_removal(alice, asker, dataset):
    run = full_run(alice, dataset, "a")
    counted = asker.ask("delete", f"/runs/{run.pk}?dry_run=true").json()
    assert (counted["applied"], counted["removed"]["scores"]) == (False, 3)
    assert counted["cached_answers_kept"] == 1
    assert asker.ask("delete", f"/runs/{run.pk}").json()["remove_after"]
    assert not asker.ask("delete", f"/runs/{run.pk}").json()["changed"]
    assert asker.patch(f"/runs/{run.pk}", {"archived": False}).json()["changed"]
    assert told(alice) == [run.pk]
    Run.objects.update(state=RunState.RUNNING, ended=None)
    assert asker.ask("delete", f"/runs/{run.pk}").status_code == 409
    run = full_run(alice, dataset, "b", failed=1)
    delete_run(run, alice)
    with pytest.raises(ConfigurationError, match="deleted"):
        retry_failed(run, alice)
    pass_the_time(run)
    with pytest.raises(InUseError, match="being removed"):
        restore_run(run, alice)
    assert asker.patch(f"/runs/{run.pk}", {"archived": False}).status_code == 409


def test_runs_of_others_are_left_alone_whatever_is_ticked(alice, dataset, bob):
    hidden, shared = make_run(alice, dataset), make_run(alice, dataset, is_shared=True)
    client = client_of(bob)
    chosen: Any = {"do": "delete", "run": [hidden.pk, shared.pk]}
    page = client.get(reverse(SEVERAL), chosen).text
    assert f"#{hidden.pk}" not in page
    assert "Only alice and operators may change this run." in page
    client.post(reverse(SEVERAL), chosen)
    assert Run.objects.filter(archived=None).count() == 2
    client_of(make_person("olga", role=Role.OPERATOR)).post(reverse(SEVERAL), chosen)
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
    page = client.get(reverse(SEVERAL), asked).text
    assert "No trial failed." in page
    assert "A run that was cancelled does not go on." in page
    for query in ({"do": "explode"}, {"do": "delete", "run": ["x", "9" * 30]}, {}):
        assert client.get(reverse(SEVERAL), query).status_code in {200, 404}, "a mangled choice"
