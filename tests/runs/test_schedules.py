"""A configuration over time: one run for each due time, by a held clock, and its gates."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.urls import reverse
from django.utils.timezone import now

from runs.cron import next_due
from runs.models import (
    Configuration,
    ConfigurationVersion,
    DueTime,
    Run,
    RunEvent,
    RunGate,
    RunState,
    Schedule,
)
from runs.services.configurations import save_configuration
from runs.services.control.maintenance import begin_maintenance, end_maintenance
from runs.services.control.retrying import retry_failed
from runs.services.gating import CLAIMED_FOR, judge_ended, open_gate, reopen_gate, set_gate
from runs.services.removing.retention import count_old, prune_runs
from runs.services.runs import Source, cancel_run, create_run
from runs.services.schedules import GRACE, launch_due, pause_schedule, save_schedule
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, run_document
from tests.runs.comparing_parts import make_scored
from tests.runs.conftest import at_once
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

PROGRAM = {"code": {"source": "def score(answer, expected, case): return True"}}
SAVED = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)  # a Monday
DUE = datetime(2026, 3, 3, 6, 30, tzinfo=UTC)
SOON = DUE + timedelta(seconds=4)
DAY = timedelta(days=1)


@pytest.fixture
def stored(alice, dataset):
    return save_configuration(alice, "nightly", run_document(dataset))


@pytest.fixture
def schedule(alice, stored):
    return save_schedule(stored, alice, "30 6 * * *", "UTC", SAVED)


def outcomes():
    return list(DueTime.objects.order_by("due").values_list("due", "outcome", "missed"))


def told():
    return DueTime.objects.latest("due").told


def test_nothing_is_launched_before_it_is_due_and_once_when_it_is(alice, schedule):
    assert schedule.next_due == DUE
    assert launch_due(DUE - timedelta(seconds=1)) == 0
    assert launch_due(SOON) == 1
    assert launch_due(SOON) == 0
    run = Run.objects.get()
    assert (run.owner, run.configuration_version) == (alice, 1)
    assert run.configuration == schedule.configuration
    assert outcomes() == [(DUE, "launched", 0)]
    schedule.refresh_from_db()
    assert schedule.next_due == DUE + DAY


@pytest.mark.postgresql("locks: four processes ask at once")
@pytest.mark.django_db(transaction=True)
def test_however_many_processes_ask_there_is_one_run(schedule):
    def ask():
        while True:
            try:
                return launch_due(SOON)
            except OperationalError:  # as the timekeeper: it asks again
                continue

    taken = at_once(*[ask] * 4)
    assert (sum(taken), Run.objects.count(), outcomes()) == (1, 1, [(DUE, "launched", 0)])


def test_what_is_missed_is_said_and_caught_up_once_at_most(alice, stored):
    fourth = DUE + 3 * DAY
    late = fourth + 2 * GRACE
    for catches_up, moment, said in (
        (False, DUE + GRACE, (DUE, "launched", 0)),  # late, as by a restart
        (False, DUE + GRACE + timedelta(seconds=1), (DUE, "missed", 1)),
        (False, late, (fourth, "missed", 4)),
        (False, fourth, (fourth, "launched", 3)),  # it is due
        (True, late, (fourth, "launched", 3)),  # one run for all four
    ):
        Schedule.objects.all().delete()
        Run.objects.all().delete()
        save_schedule(stored, alice, "30 6 * * *", "UTC", SAVED)
        Schedule.objects.update(catches_up=catches_up)
        launch_due(moment)
        assert outcomes() == [said]
        assert Run.objects.count() == (said[1] == "launched")
    (row, *_) = Asker(alice).get("/configuration-schedules/nightly").json()["times"]
    assert (row["outcome"], row["missed"]) == ("launched", 3)
    assert "Launched" in client_of(alice).get(stored.get_absolute_url()).text


def test_it_stops_and_says_so_when_its_owner_may_not_any_more(alice, ada, stored, schedule):
    named, person = Configuration.objects.filter(pk=stored.pk), User.objects.filter(pk=alice.pk)
    for change, reason in (
        (lambda: person.update(is_active=False), "The account of alice is closed"),
        (alice.groups.clear, "alice may not launch runs any more"),
        (lambda: named.update(owner=ada), "alice may not see this configuration any more"),
    ):
        with transaction.atomic():
            change()
            launch_due(SOON)
            schedule.refresh_from_db()
            assert (schedule.is_on, schedule.next_due, Run.objects.count()) == (False, None, 0)
            assert reason in schedule.stopped
            assert launch_due(SOON + DAY) == 0
            assert reason in client_of(ada).get(stored.get_absolute_url()).text
            transaction.set_rollback(True)


def test_a_refused_launch_says_why_and_no_run_is_started_beside_another(alice, schedule, settings):
    settings.LIVE_RUNS = 0
    launch_due(SOON)
    assert outcomes() == [(DUE, "refused", 0)]
    assert "are allowed" in told()
    settings.LIVE_RUNS = 5
    launch_due(SOON + DAY)
    launch_due(SOON + 2 * DAY)
    run = Run.objects.get()
    assert told() == f"Run {run.pk} is still queued."
    cancel_run(run, alice)
    launch_due(SOON + 3 * DAY)
    found = [outcome for _, outcome, _ in outcomes()]
    assert found == ["refused", "launched", "skipped", "launched"]
    assert Run.objects.filter(state=RunState.QUEUED).count() == 1


def test_who_may_change_its_configuration_does_not_borrow_its_owners_rights(
    alice, ada, stored, dataset
):
    """Ada sees everything; what Alice writes into a configuration that Ada scheduled is Alice's."""
    save_schedule(stored, ada, "30 6 * * *", "UTC", SAVED)
    secret = make_dataset(ada, "salaries")
    for document, where in (
        (run_document(secret), "dataset"),
        (run_document(dataset, scorers=[PROGRAM]), "scorers.0"),
    ):
        Configuration.objects.filter(pk=stored.pk).update(document=document)
        ConfigurationVersion.objects.update(document=document)
        launch_due(DueTime.objects.count() * DAY + SOON)
        assert f"alice saved its last change, and may not use all that it names ({where})" in told()
    assert not Run.objects.exists()
    save_configuration(ada, "nightly", run_document(secret))
    launch_due(SOON + 2 * DAY)
    assert Run.objects.get().owner == ada


def test_maintenance_holds_it_and_in_a_pause_nothing_is_missed(alice, ada, stored, schedule):
    pause_schedule(schedule, alice)
    assert launch_due(SOON) == 0
    Asker(alice).ask("patch", "/configuration-schedules/nightly", {"on": True})
    schedule.refresh_from_db()
    assert (schedule.is_on, outcomes()) == (True, [])
    Schedule.objects.update(next_due=DUE)
    begin_maintenance(ada)
    assert launch_due(SOON) == 0
    page = client_of(alice).get(stored.get_absolute_url()).text
    assert "Held while the site is maintained" in page
    end_maintenance(ada)
    launch_due(DUE + timedelta(hours=2))
    assert outcomes() == [(DUE, "missed", 1)]


def test_due_times_are_those_of_the_time_zone_and_others_are_refused_everywhere(alice, stored):
    for after, due in (
        ("2026-03-28T12:00+01:00", "2026-03-29T03:00+02:00"),  # the hour that is not
        ("2026-10-24T12:00+02:00", "2026-10-25T02:30+02:00"),  # the hour that is twice
        ("2026-06-01T12:00+02:00", "2026-06-02T02:30+02:00"),  # in summer
    ):
        found = next_due("30 2 * * *", "Europe/Paris", datetime.fromisoformat(after))
        assert found == datetime.fromisoformat(due)
    wrong = [
        *((cron, "UTC", "cron") for cron in ("every day", "0 0 * * * *", "61 6 * * *")),
        ("0 0 31 2 *", "UTC", "cron"),  # a day that never comes
        ("30 6 * * *", "Mars/Olympus", "time_zone"),
    ]
    for cron, zone, field in wrong:
        with pytest.raises(ConfigurationError) as refused:
            save_schedule(stored, alice, cron, zone, SAVED)
        assert [problem.path for problem in refused.value.problems] == [field], cron
    for cron, zone, field in (wrong[0], wrong[-1]):
        body = {"cron": cron, "time_zone": zone}
        answer = Asker(alice).ask("put", "/configuration-schedules/nightly", body)
        assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, field)
        page = client_of(alice).post(reverse("configuration_schedule", args=[stored.pk]), body)
        assert page.status_code == 400
    assert not Schedule.objects.exists()


def test_the_page_and_the_api_keep_schedule_and_gate(alice, stored, dataset):
    form = {"cron": "30 6 * * mon-fri", "time_zone": "Europe/Paris", "catches_up": "on"}
    client_of(alice).post(reverse("configuration_schedule", args=[stored.pk]), form)
    shown = Asker(alice).get("/configuration-schedules/nightly").json()
    assert (shown["cron"], shown["catches_up"], shown["state"]) == ("30 6 * * MON-FRI", True, "on")
    change = reverse("configuration_schedule_change", args=[stored.pk])
    client_of(alice).post(change, {"do": "pause"})
    assert Asker(alice).get("/configuration-schedules/nightly").json()["state"] == "paused"
    client_of(alice).post(change, {"do": "resume"})
    client_of(alice).post(change, {"do": "remove"})
    assert Asker(alice).get("/configuration-schedules/nightly").status_code == 404
    run = ended(stored, dataset, GOOD)
    button = reverse("configuration_baseline", args=[stored.pk])
    assert "Use as baseline" in client_of(alice).get(stored.get_absolute_url()).text
    client_of(alice).post(button, {"baseline": run.pk})
    sent = {"baseline": run.pk, "min_score": "0.75", "max_regressions": "2"}
    client_of(alice).post(reverse("configuration_gate", args=[stored.pk]), sent)
    asked = Asker(alice).get("/configuration-gates/nightly").json()
    assert (asked["baseline"], asked["min_score"], asked["max_regressions"]) == (run.pk, 0.75, 2)
    refused = client_of(alice).post(
        reverse("configuration_gate", args=[stored.pk]), {"baseline": 10**6, "max_error_rate": 0.5}
    )
    assert refused.status_code == 400
    assert "There is no such run that you may see" in refused.text
    Asker(alice).ask("put", "/configuration-gates/nightly", {})
    assert Asker(alice).get("/configuration-gates/nightly").json()["baseline"] is None


# --- Gates: runs are held to a baseline and bars, as they were at the launch

CASES = 20
GOOD, BAD = [1.0] * CASES, [0.0] * CASES


@pytest.fixture
def dataset(alice, endpoint):
    return make_dataset(alice, rows=CASES)


def ended(stored, dataset, values, **fields):
    """A run of it with these values, not judged yet."""
    made = {"configuration": stored, "configuration_version": stored.version}
    run = make_scored(stored.owner, dataset, values, **made, **fields)
    open_gate(run, stored)
    return run


JUDGED: dict[str, tuple[list[float], dict[str, Any], dict[str, Any], str]] = {
    "as good as the baseline": (GOOD, {}, {}, "passed"),
    "worse, and not by chance": (BAD, {}, {}, "regressed"),
    "one case worse may be chance": ([0.0, *GOOD[1:]], {}, {}, "passed"),
    "not one case worse": ([0.0, *GOOD[1:]], {}, {"max_regressions": 0}, "regressed"),
    "too dear": (GOOD, {"cost": 2.0}, {"max_cost": 1.0}, "failed"),
    "good enough": (GOOD, {}, {"min_score": 0.9}, "passed"),
    "cancelled is no regression": (BAD, {"state": RunState.CANCELLED}, {}, "failed"),
}
TOLD = {"passed": "It passed", "failed": "A gate", "regressed": "Reg"}


def test_a_run_is_judged_when_it_has_ended(alice, stored, dataset):
    baseline, found, runs = ended(stored, dataset, GOOD), {}, {}
    for case, (values, fields, gates, state) in JUDGED.items():
        set_gate(stored, alice, baseline, gates)
        run = runs[state] = ended(stored, dataset, values, **fields)
        assert (judge_ended(now()), judge_ended(now()), run.gate.state) == (1, 0, "pending")
        found[case] = RunGate.objects.get(run=run).state
        assert RunEvent.objects.filter(run=run).latest("pk").message.startswith(TOLD[state]), case
    assert found == {case: state for case, (*_, state) in JUDGED.items()}
    of_all = client_of(alice).get(stored.get_absolute_url()).text
    for state, run in runs.items():
        shown = Asker(alice).get(f"/runs/{run.pk}").json()["gate"]
        assert (shown["state"], shown["baseline"]) == (state, baseline.pk)
        for page in (client_of(alice).get(run.get_absolute_url()).text, of_all):
            assert state.capitalize() in page


def test_figures_of_a_baseline_are_told_to_who_may_see_it(alice, bob, stored, dataset):
    """Bob launched the shared configuration of Alice, whose baseline is private."""
    set_gate(stored, alice, ended(stored, dataset, GOOD), {"max_regressions": 0})
    for owner, told in ((alice, True), (bob, False)):
        run = ended(stored, dataset, BAD)
        Run.objects.filter(pk=run.pk).update(owner=owner)
        judge_ended(now())
        seen = [Asker(owner).get(f"/runs/{run.pk}").text]
        seen += [client_of(owner).get(run.get_absolute_url()).text]
        seen += [RunEvent.objects.filter(run=run).latest("pk").message]
        for text in seen:
            assert ("passed in the baseline and do not" in text) is told
            assert ("is not shared with bob" in text) is not told


def test_what_is_under_way_waits_and_what_goes_on_is_judged_again(alice, stored, dataset):
    set_gate(stored, alice, None, {"min_score": 0.5})
    run = ended(stored, dataset, GOOD, state=RunState.RUNNING, ended=None)
    assert judge_ended(now()) == 0
    assert Asker(alice).get(f"/runs/{run.pk}").json()["gate"]["state"] == "pending"
    Run.objects.filter(pk=run.pk).update(state=RunState.COMPLETED)
    assert judge_ended(now()) == 1
    reopen_gate(run)
    assert judge_ended(now()) == 1
    reopen_gate(run)  # and a claim ends with the process that made it
    moment = now()
    RunGate.objects.update(claimed=moment)
    assert judge_ended(moment + CLAIMED_FOR - timedelta(seconds=1)) == 0
    assert judge_ended(moment + CLAIMED_FOR + timedelta(seconds=1)) == 1


def test_retrying_a_run_opens_its_gate_which_asks_what_it_did_at_the_launch(alice, stored, dataset):
    set_gate(stored, alice, None, {"min_score": 0.5})
    run = ended(stored, dataset, [None, *GOOD[1:]])
    run.chunks.create(start=0, trials=[[0, 0, 0, 0]], state="done")
    judge_ended(now())
    assert retry_failed(run, alice) == 1
    assert RunGate.objects.get().state == "pending"
    run = create_run(alice, stored.as_document, source=Source(configuration=stored))
    set_gate(stored, alice, None, {"min_score": 0.9})
    assert RunGate.objects.get(run=run).asked == {"min_score": 0.5}
    set_gate(stored, alice, None, {})
    free = create_run(alice, stored.as_document, source=Source(configuration=stored))
    assert not RunGate.objects.filter(run=free).exists()


def test_a_baseline_is_a_complete_run_with_the_same_scorers_that_is_there(alice, stored, dataset):
    baseline = ended(stored, dataset, GOOD)
    set_gate(stored, alice, baseline, {})
    run = ended(stored, dataset, GOOD)
    number = baseline.pk
    baseline.delete()
    judge_ended(now())
    checks = Asker(alice).get(f"/runs/{run.pk}").json()["gate"]["checks"]
    assert f"Run {number} was deleted. Choose another baseline." in [one["told"] for one in checks]
    stored.refresh_from_db()
    assert stored.baseline is None
    assert (
        f"run #{number}, which was removed" in client_of(alice).get(stored.get_absolute_url()).text
    )
    later = create_run(alice, stored.as_document, source=Source(configuration=stored))
    assert RunGate.objects.get(run=later).asked == {"baseline": number}  # and is missed again
    going = ended(stored, dataset, GOOD, state=RunState.RUNNING)
    other = ended(stored, dataset, GOOD, document=run_document(dataset, scorers=["numeric"]))
    for run, told in ((other, "has other scorers"), (going, "is running. Choose a complete one")):
        answer = Asker(alice).ask("put", "/configuration-gates/nightly", {"baseline": run.pk})
        assert (answer.status_code, told in answer.json()["detail"]) == (422, True)
    address = reverse("configuration_baseline", args=[stored.pk])
    assert told in client_of(alice).post(address, {"baseline": run.pk}).text
    with pytest.raises(ConfigurationError):
        set_gate(stored, alice, None, {"alpha": 0.1})


def test_what_others_are_compared_with_is_not_removed_for_its_age(alice, stored, dataset):
    baseline, old, earlier = (ended(stored, dataset, GOOD) for _ in range(3))
    set_gate(stored, alice, earlier, {})
    ended(stored, dataset, GOOD)  # waits to be judged
    set_gate(stored, alice, baseline, {})
    kept = set(Run.objects.exclude(pk=old.pk))
    Run.objects.filter(pk__in=[baseline.pk, old.pk, earlier.pk]).update(ended=now() - 400 * DAY)
    assert (count_old(now() - 300 * DAY)[0], prune_runs(now() - 300 * DAY)) == (1, 1)
    assert set(Run.objects.all()) == kept
