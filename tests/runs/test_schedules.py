"""A configuration over time: one run for each due time, by a held clock, and the trend of all."""

import json
import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.urls import reverse

from runs.cron import next_due
from runs.models import Configuration, DueTime, Run, RunState, Schedule
from runs.services.configurations import save_configuration
from runs.services.control.maintenance import begin_maintenance, end_maintenance
from runs.services.people.sharing import share_configuration
from runs.services.runs import cancel_run
from runs.services.schedules import GRACE, launch_due, pause_schedule, save_schedule
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_run, run_document
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

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
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.django_db(transaction=True)
def test_however_many_processes_ask_there_is_one_run(schedule):
    begin = threading.Barrier(4)
    taken = []

    def ask():
        begin.wait()
        while True:
            try:
                taken.append(launch_due(SOON))
                break
            except OperationalError:  # as the timekeeper: it asks again
                continue
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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


def test_a_refused_launch_says_why_and_a_run_is_not_started_beside_another(
    alice, schedule, settings
):
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


def test_maintenance_holds_it_and_what_is_due_while_it_is_paused_is_not_missed(
    alice, ada, stored, schedule
):
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


def test_due_times_are_those_of_the_time_zone():
    for after, due in (
        ("2026-03-28T12:00+01:00", "2026-03-29T03:00+02:00"),  # the hour that is not
        ("2026-10-24T12:00+02:00", "2026-10-25T02:30+02:00"),  # the hour that is twice
        ("2026-06-01T12:00+02:00", "2026-06-02T02:30+02:00"),  # in summer
    ):
        found = next_due("30 2 * * *", "Europe/Paris", datetime.fromisoformat(after))
        assert found == datetime.fromisoformat(due)


def test_what_cannot_be_due_is_refused_everywhere(alice, stored):
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


def test_the_page_and_the_api_keep_it(alice, stored):
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


# --- The trend: complete runs, in numbers for charts and programs


def went(stored, dataset, right, **fields):
    """A run of ten trials, so many of them right."""
    given = {"done": 10, "scored": 10, "value_sum": right, "value_square_sum": right}
    made = {"configuration": stored, "configuration_version": 1, "latency_bins": {"100": 10}}
    return make_run(stored.owner, dataset, **{**given, **made, "cost": 0.25, **fields})


def test_points_are_complete_runs_in_their_order(alice, stored, dataset):
    runs = [
        went(stored, dataset, 5),
        went(stored, dataset, 8, configuration_version=2, cost=0.5),
        went(stored, dataset, 1, state=RunState.CANCELLED),
        went(stored, dataset, 9, unpriced=10, cost=0.0, latency_bins={}),
    ]
    make_run(alice, dataset)
    found = Asker(alice).get("/configuration-trends/nightly").json()["points"]
    assert [one["run"] for one in found] == [runs[0].pk, runs[1].pk, runs[3].pk]
    assert [one["score"] for one in found] == [0.5, 0.8, 0.9]
    assert [one["cost"] for one in found] == [0.25, 0.5, None]
    assert [one["version"] for one in found] == [1, 2, 1]
    assert [one["latency_p50"] is None for one in found] == [False, False, True]
    assert all(one["low"] < one["score"] < one["high"] for one in found)
    few = Asker(alice).get("/configuration-trends/nightly", limit=1).json()["points"]
    assert [one["run"] for one in few] == [runs[3].pk]


def test_the_page_has_the_same_numbers_and_none_of_hidden_runs(alice, bob, stored, dataset):
    first = went(stored, dataset, 5, is_shared=True)
    assert columns(alice, stored) is None, "one run is no trend"
    runs = [first, *(went(stored, dataset, right, is_shared=right != 8) for right in (8, 9))]
    share_configuration(stored, alice, is_shared=True)
    assert columns(alice, stored)["run"] == [run.pk for run in runs]
    assert columns(bob, stored)["run"] == [runs[0].pk, runs[2].pk]


def columns(person, stored):
    page = client_of(person).get(stored.get_absolute_url()).text
    found = re.search(r'<script id="trend" type="application/json">(.*?)</script>', page)
    return json.loads(found.group(1)) if found else None
