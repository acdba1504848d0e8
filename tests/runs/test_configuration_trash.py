"""Configurations that are deleted come back whole for a while, and launch nothing until then."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError
from django.urls import reverse
from django.utils.timezone import now

from runs.models import (
    Configuration,
    ConfigurationVersion,
    DueTime,
    Profile,
    Run,
    Schedule,
)
from runs.services.chunks.recovery import sweep
from runs.services.configurations import save_configuration
from runs.services.gating import set_gate
from runs.services.removing.configuration_trash import delete_configuration, restore_configuration
from runs.services.schedules import has_due_schedules, launch_due, save_schedule
from tests.api.asking import Asker
from tests.harness.factories import (
    client_of,
    run_document,
)
from tests.runs.test_trash import say
from workers.engine.errors import ConfigurationError
from workers.engine.spec.documents import write_document

pytestmark = pytest.mark.django_db

SAVED = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
SOON = datetime(2026, 3, 3, 6, 30, 4, tzinfo=UTC)


@pytest.fixture(autouse=True)
def data_folder(settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path


@pytest.fixture
def stored(alice, dataset):
    """With two versions, a gate and a schedule that catches up."""
    save_configuration(alice, "nightly", run_document(dataset, seed=1))
    saved = save_configuration(alice, "nightly", run_document(dataset, seed=2))
    set_gate(saved, alice, None, {"min_score": 0.5})
    save_schedule(saved, alice, "30 6 * * *", "UTC", SAVED, catches_up=True)
    return saved


def pass_the_time():
    deleted = Configuration.objects.filter(remove_after__isnull=False)
    deleted.update(remove_after=now() - timedelta(seconds=1))


def page_of(person, name, *args, **query):
    return client_of(person).get(reverse(name, args=args), query).text


def test_a_page_says_what_goes_and_brings_it_back_whole(alice, stored):
    address = reverse("configuration_remove", args=[stored.pk])
    asked, client = page_of(alice, "configuration_remove", stored.pk), client_of(alice)
    assert "2 versions, its schedule, its gates; 0 runs made from it stay." in asked
    assert "It can be brought back for 7 days, under Deleted" in asked
    form = {"action": "delete", "typed": "nightly"}
    told = client.post(address, form, follow=True).text
    assert "It can be brought back for 7 days, under Deleted" in told
    assert "Show deleted (1)" in told
    assert stored.get_absolute_url() not in told
    assert client.post(address, form).status_code == 400, "sent twice, it is not removed for good"
    assert stored.get_absolute_url() in page_of(alice, "configurations", deleted=1)
    shown = page_of(alice, "configuration", stored.pk)
    assert "nightly is deleted: nothing is launched from it." in shown
    assert "Held while the configuration is deleted" in shown
    assert reverse("configuration_launch", args=[stored.pk]) not in shown
    sweep()
    back = client.post(reverse("configuration_restore", args=[stored.pk]), follow=True).text
    assert "nightly is back, with its schedule and gates." in back
    found = Configuration.objects.get()
    assert (found.remove_after, found.gates, found.versions.count()) == (
        None,
        {"min_score": 0.5},
        2,
    )
    assert "Show deleted" not in page_of(alice, "configurations")


CLOSED = {
    "configuration_launch": {"key": "k"},
    "configuration_share": {"share": "yes"},
    "configuration_gate": {"min_score": "0.9"},
    "configuration_schedule": {"cron": "0 0 * * *", "time_zone": "UTC"},
    "configuration_schedule_change": {"do": "pause"},
}


def test_a_deleted_one_cannot_be_used_changed_or_chosen(alice, stored):
    client = client_of(alice)
    delete_configuration(stored, alice)
    assert "nightly" not in page_of(alice, "run_new")
    before = Configuration.objects.values().get()
    found = {
        view: client.post(reverse(view, args=[stored.pk]), form).status_code
        for view, form in CLOSED.items()
    }
    assert found == dict.fromkeys(CLOSED, 404)
    assert (Configuration.objects.values().get(), Run.objects.count()) == (before, 0)
    Configuration.objects.update(remove_after=SAVED)
    Profile.objects.create(person=alice, time_zone="Europe/Paris")
    assert "after 2 Mar 2026, 13:00 CET." in page_of(alice, "configuration", stored.pk)


def test_its_schedule_rests_and_nothing_is_caught_up_afterwards(alice, stored):
    assert has_due_schedules(SOON)
    delete_configuration(stored, alice)
    assert (has_due_schedules(SOON), launch_due(SOON), DueTime.objects.count()) == (False, 0, 0)
    restore_configuration(stored, alice)
    due = Schedule.objects.get().next_due
    assert due is not None
    assert due > now()
    assert launch_due(due - timedelta(seconds=1)) == 0
    assert launch_due(due + timedelta(seconds=1)) == 1
    assert DueTime.objects.get().missed == 0
    Schedule.objects.update(is_on=False, next_due=None)  # a paused one comes back paused
    delete_configuration(stored, alice)
    restore_configuration(stored, alice)
    assert Schedule.objects.get().next_due is None


def test_the_sweep_removes_it_when_its_time_is_over_and_its_runs_stay(alice, stored):
    client_of(alice).post(reverse("configuration_launch", args=[stored.pk]), {"key": "k"})
    delete_configuration(stored, alice)
    sweep()
    assert Run.objects.get().configuration == stored
    pass_the_time()
    sweep()
    left = (Configuration, ConfigurationVersion, Schedule)
    assert [model.objects.count() for model in left] == [0, 0, 0]
    assert Run.objects.get().configuration is None


def test_by_rest_it_is_listed_apart_shown_and_brought_back_and_its_name_refused(
    alice, bob, stored, dataset
):
    asker, path = Asker(alice), "/configurations/nightly"
    assert [asker.ask("delete", path).json()["changed"] for _ in range(2)] == [True, False]
    assert asker.get("/configurations").json()["data"] == []
    (row,) = asker.get("/configurations", archived=True).json()["data"]
    assert (row["name"], row["remove_after"] is not None) == ("nightly", True)
    assert asker.get(path).json()["seed"] == 2
    refused = asker.post("/runs", {"configuration": "nightly"})
    assert (refused.status_code, "is deleted" in refused.text) == (422, True)
    assert asker.get("/configuration-schedules/nightly").status_code == 404
    assert asker.patch(path, {"archived": True}).status_code == 422
    document = run_document(dataset, name="nightly", seed=3)
    for answer in (
        asker.post("/configurations", document),
        asker.ask("put", path, document),
        asker.patch(path, {"shared": True}),
    ):
        assert (answer.status_code, "now=true removes it" in answer.text) == (409, True)
    stranger = Asker(bob).post("/configurations", document)
    assert (stranger.status_code, "is deleted" in stranger.text) == (409, False)
    back = [asker.patch(path, {"archived": False}).json()["changed"] for _ in range(2)]
    assert back == [True, False]
    assert asker.post("/runs", {"configuration": "nightly"}).status_code == 202
    assert asker.ask("delete", f"{path}?now=true").json()["changed"]
    assert asker.post("/configurations", document).status_code == 201


def test_commands_say_what_goes_delete_refuse_to_run_and_bring_back(alice, stored):
    told = say("delete", "configuration", "nightly")
    assert "nightly: 2 versions, its schedule, its gates; 0 runs made from it stay." in told
    assert Configuration.objects.get().remove_after is None
    told = say("delete", "configuration", "nightly", yes=True)
    assert told.startswith("Deleted 1 configuration. `restore configuration` brings them back")
    with pytest.raises(CommandError, match="'nightly' is deleted"):
        say("run", "nightly", user="alice", detach=True)
    with pytest.raises(ConfigurationError, match=r"'nightly' is deleted.*Bring it back, or remove"):
        save_configuration(alice, "nightly", {**stored.document, "seed": 3})
    assert say("restore", "configuration", "nightly") == "Brought back 1 configuration.\n"
    assert Configuration.objects.get().remove_after is None


def test_a_stranger_neither_sees_nor_brings_it_back_and_of_a_shared_one_is_not_asked(
    alice, bob, stored
):
    delete_configuration(stored, alice)
    restore = reverse("configuration_restore", args=[stored.pk])
    assert client_of(bob).post(restore).status_code == 404
    assert "Show deleted" not in page_of(bob, "configurations")
    Configuration.objects.update(is_shared=True)
    shown = page_of(bob, "configuration", stored.pk)
    assert "nightly is deleted" in shown
    assert "Bring it back" not in shown
    assert client_of(bob).post(restore).status_code == 403
    assert Configuration.objects.get().remove_after


def test_what_it_names_is_kept_and_administration_counts_and_changes_no_deleted_one(
    ada, alice, stored, dataset
):
    ada.is_superuser = True
    ada.save()
    delete_configuration(stored, alice)
    used = page_of(alice, "dataset_remove", dataset.pk)
    assert "1 configuration (1 deleted, not removed yet)" in used
    assert "nightly" in used
    assert "1 configuration; the next one goes on" in " ".join(page_of(ada, "system").split())
    address = reverse("admin:runs_configuration_change", args=[stored.pk])
    form = {"description": "", "document": write_document(run_document(dataset, seed=3))}
    answer = client_of(ada).post(address, form)
    assert (answer.status_code, "is deleted" in answer.text) == (200, True)
    assert Configuration.objects.get().version == 2
    asker = Asker(alice)
    assert asker.ask("delete", "/datasets/sums").status_code == 409
    asker.ask("delete", "/configurations/nightly?now=true")
    assert asker.ask("delete", "/datasets/sums?now=true").json()["changed"]
