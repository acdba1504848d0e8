"""Stored configurations: versions that stay, sharing as of runs, launching them, their trend."""

import json
import re
from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import CommandError
from django.urls import reverse
from django.utils.timezone import now

from runs.models import (
    Configuration,
    ConfigurationVersion,
    DueTime,
    Profile,
    Run,
    RunState,
    Schedule,
)
from runs.roles import Role
from runs.services.chunks.recovery import sweep
from runs.services.configurations import save_configuration
from runs.services.gating import set_gate
from runs.services.people.sharing import share_configuration
from runs.services.removing.configuration_trash import delete_configuration, restore_configuration
from runs.services.schedules import has_due_schedules, launch_due, save_schedule
from tests.api.asking import Asker
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
    run_document,
)
from tests.runs.conftest import said_by, show
from tests.runs.new_run_parts import FILLED
from workers.engine.errors import ConfigurationError
from workers.engine.spec.documents import write_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_folder")]


@pytest.fixture
def dataset(alice, endpoint):
    make_endpoint("other")
    return make_dataset(alice, share=True)


@pytest.fixture
def stored(alice, dataset):
    return save_configuration(alice, "nightly", run_document(dataset, seed=1), "Every night.")


def page_of(person, stored, **query):
    return client_of(person).get(stored.get_absolute_url(), query)


def test_another_document_is_another_version_and_the_page_shows_changes(alice, stored, dataset):
    save_configuration(alice, "nightly", run_document(dataset, seed=1), "Each night.")
    assert [one.version for one in stored.versions.all()] == [1]
    save_configuration(alice, "nightly", run_document(dataset, seed=77))
    kept = {one.version: (one.document["seed"], one.saved_by) for one in stored.versions.all()}
    assert kept == {1: (1, alice), 2: (77, alice)}
    assert "seed: 77" in page_of(alice, stored).text
    assert "seed: 1" in page_of(alice, stored, version=1).text
    changed = page_of(alice, stored, version=2, against=1).text
    assert "[gone: </span>1<" in changed
    assert "[new: </span>77<" in changed
    for query in ({"version": 3}, {"against": 9}, {"version": "x"}):
        assert page_of(alice, stored, **query).status_code == 404
    dataset.delete()
    answer = client_of(alice).post(reverse("configuration_launch", args=[stored.pk]))
    assert (answer.status_code, "It was not launched" in answer.text) == (400, True)
    assert "There is no dataset" in answer.text


def test_pressing_launch_twice_starts_one_run_of_its_version_which_outlives_it(alice, stored):
    address = reverse("configuration_launch", args=[stored.pk])
    client = client_of(alice)
    for _ in range(2):
        client.post(address, {"key": "pressed"})
    run = Run.objects.get()
    assert (run.configuration, run.configuration_version, run.name) == (stored, 1, "nightly")
    assert f'href="{stored.get_absolute_url()}"' in client.get(run.get_absolute_url()).text
    assert f'href="{run.get_absolute_url()}"' in page_of(alice, stored).text
    address = reverse("configuration_remove", args=[stored.pk])
    assert "1 version; 1 run made from it stays." in client.get(address).text
    assert client.post(address, {"action": "delete", "typed": "night"}).status_code == 400
    for action in ("delete", "remove"):
        assert Configuration.objects.exists()
        client.post(address, {"action": action, "typed": "nightly"})
    assert not Configuration.objects.exists()
    assert Run.objects.get().configuration is None


def test_the_new_run_form_saves_it_and_makes_a_run_of_it_if_it_is_unchanged(alice, bob, dataset):
    client, sent = client_of(alice), {**FILLED, "save_name": "small"}
    answer = client.post(reverse("configuration_save"), sent, follow=True)
    assert "Saved small, version 1." in answer.text
    stored = Configuration.objects.get()
    assert (stored.owner, stored.document["repeats"], Run.objects.count()) == (alice, 2, 0)
    again = client.post(reverse("configuration_save"), sent, follow=True)
    assert "It is version 1 already" in again.text
    address = f"{reverse('run_new')}?configuration={stored.pk}"
    assert 'value="small"' in client.get(address).text
    client.post(address, FILLED)
    client.post(address, {**FILLED, "key": "key-2", "seed": "8"})
    same, changed = Run.objects.order_by("pk")
    assert (same.configuration, same.configuration_version) == (stored, 1)
    assert changed.configuration is None
    share_configuration(stored, alice, is_shared=True)
    refused = client_of(bob).post(reverse("configuration_save"), sent)
    assert (refused.status_code, 'href="#id_save_name"' in refused.text) == (400, True)
    assert "of somebody else already" in refused.text
    assert Configuration.objects.get().version == 1


def test_the_api_has_versions_and_sharing(alice, asker, bob, stored, dataset):
    assert asker.ask(
        "put", "/configurations/nightly", run_document(dataset, name="nightly", seed=2)
    )
    found = asker.get("/configuration-versions/nightly").json()["versions"]
    assert [(one["version"], one["saved_by"], one["document"]["seed"]) for one in found] == [
        (2, "alice", 2),
        (1, "alice", 1),
    ]
    assert asker.get("/configurations/nightly", version=1).json()["seed"] == 1
    changes = {"shared": True, "description": "Each night."}
    assert asker.ask("patch", "/configurations/nightly", changes).json()["changed"] is True
    assert asker.ask("patch", "/configurations/nightly", changes).json()["changed"] is False
    (row,) = Asker(bob).get("/configurations").json()["data"]
    assert (row["owner"], row["shared"], row["description"]) == ("alice", True, "Each night.")
    run = asker.post("/runs", {"configuration": "nightly"}).json()["id"]
    shown = asker.get(f"/runs/{run}").json()
    assert (shown["configuration"], shown["configuration_version"]) == ("nightly", 2)


def test_the_list_asks_as_often_for_many(alice, stored, dataset, django_assert_max_num_queries):
    for number in range(5):
        save_configuration(alice, f"another {number}", run_document(dataset))
        Asker(alice).post("/runs", {"configuration": f"another {number}"})
    client = client_of(make_person("olga", role=Role.OPERATOR))
    with django_assert_max_num_queries(14):
        client.get(reverse("configurations"))


def test_versions_count_as_storage_and_those_from_before_keep_their_newest(alice, stored, settings):
    settings.STORED_MEGABYTES = 0
    with pytest.raises(ConfigurationError, match="0 B are allowed"):
        save_configuration(alice, "more", stored.document)
    ConfigurationVersion.objects.all().delete()
    assert "v1" in page_of(alice, stored).text
    import_module("runs.migrations.0043_configurations_over_time").keep_versions(apps, None)
    assert ConfigurationVersion.objects.get().document == stored.document


def went(stored, dataset, right, **fields):
    """A run of ten trials, so many of them right."""
    given = {"done": 10, "scored": 10, "value_sum": right, "value_square_sum": right}
    made = {"configuration": stored, "configuration_version": 1, "latency_bins": {"100": 10}}
    run = make_run(stored.owner, dataset, **{**given, **made, "cost": 0.25, **fields})
    run.candidates.update(**given)
    return run


def test_points_are_complete_runs_in_order_and_only_those_that_one_sees(
    alice, bob, stored, dataset
):
    first = went(stored, dataset, 5, is_shared=True)
    assert columns(alice, stored) is None, "one run is no trend"
    runs = [first, *(went(stored, dataset, right, is_shared=right != 8) for right in (8, 9))]
    share_configuration(stored, alice, is_shared=True)
    assert columns(alice, stored)["run"] == [run.pk for run in runs]
    assert columns(bob, stored)["run"] == [runs[0].pk, runs[2].pk]
    Run.objects.all().delete()
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


def columns(person, stored):
    page = client_of(person).get(stored.get_absolute_url()).text
    found = re.search(r'<script id="trend" type="application/json">(.*?)</script>', page)
    return json.loads(found.group(1)) if found else None


# --- Deleted ones come back whole for a while, and launch nothing until then

SAVED = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
SOON = datetime(2026, 3, 3, 6, 30, 4, tzinfo=UTC)


@pytest.fixture
def timed(alice, stored, dataset):
    """With two versions, a gate and a schedule that catches up."""
    saved = save_configuration(alice, "nightly", run_document(dataset, seed=2))
    set_gate(saved, alice, None, {"min_score": 0.5})
    save_schedule(saved, alice, "30 6 * * *", "UTC", SAVED, catches_up=True)
    return saved


def test_a_page_says_what_goes_and_brings_it_back_whole(alice, bob, timed):
    address = reverse("configuration_remove", args=[timed.pk])
    asked, client = show(alice, "configuration_remove", timed.pk), client_of(alice)
    assert "2 versions, its schedule, its gates; 0 runs made from it stay." in asked
    assert "It can be brought back for 7 days, under Deleted" in asked
    form = {"action": "delete", "typed": "nightly"}
    told = client.post(address, form, follow=True).text
    assert "It can be brought back for 7 days, under Deleted" in told
    assert "Show deleted (1)" in told
    assert timed.get_absolute_url() not in told
    assert client.post(address, form).status_code == 400, "sent twice, it is not removed for good"
    assert timed.get_absolute_url() in show(alice, "configurations", deleted=1)
    shown = show(alice, "configuration", timed.pk)
    assert "nightly is deleted: nothing is launched from it." in shown
    assert "Held while the configuration is deleted" in shown
    assert reverse("configuration_launch", args=[timed.pk]) not in shown
    assert "Show deleted" not in show(bob, "configurations")
    Configuration.objects.update(is_shared=True)
    shown = show(bob, "configuration", timed.pk)  # a stranger is not asked
    assert ("nightly is deleted" in shown, "Bring it back" in shown) == (True, False)
    sweep()
    back = client.post(reverse("configuration_restore", args=[timed.pk]), follow=True).text
    assert "nightly is back, with its schedule and gates." in back
    found = Configuration.objects.get()
    assert (found.remove_after, found.versions.count()) == (None, 2)
    assert found.gates == {"min_score": 0.5}
    assert "Show deleted" not in show(alice, "configurations")


CLOSED = {
    "configuration_launch": {"key": "k"},
    "configuration_share": {"share": "yes"},
    "configuration_gate": {"min_score": "0.9"},
    "configuration_schedule": {"cron": "0 0 * * *", "time_zone": "UTC"},
    "configuration_schedule_change": {"do": "pause"},
}


def test_a_deleted_one_cannot_be_used_changed_or_chosen(alice, browser, timed):
    delete_configuration(timed, alice)
    assert "nightly" not in show(alice, "run_new")
    before = Configuration.objects.values().get()
    found = {
        view: browser.post(reverse(view, args=[timed.pk]), form).status_code
        for view, form in CLOSED.items()
    }
    assert found == dict.fromkeys(CLOSED, 404)
    assert (Configuration.objects.values().get(), Run.objects.count()) == (before, 0)
    Configuration.objects.update(remove_after=SAVED)
    Profile.objects.create(person=alice, time_zone="Europe/Paris")
    assert "after 2 Mar 2026, 13:00 CET." in show(alice, "configuration", timed.pk)


def test_its_schedule_rests_and_nothing_is_caught_up_afterwards(alice, timed):
    assert has_due_schedules(SOON)
    delete_configuration(timed, alice)
    assert (has_due_schedules(SOON), launch_due(SOON), DueTime.objects.count()) == (False, 0, 0)
    restore_configuration(timed, alice)
    due = Schedule.objects.get().next_due
    assert due is not None
    assert due > now()
    assert launch_due(due - timedelta(seconds=1)) == 0
    assert launch_due(due + timedelta(seconds=1)) == 1
    assert DueTime.objects.get().missed == 0
    Schedule.objects.update(is_on=False, next_due=None)  # a paused one comes back paused
    delete_configuration(timed, alice)
    restore_configuration(timed, alice)
    assert Schedule.objects.get().next_due is None


def test_by_rest_it_is_listed_apart_brought_back_and_its_name_taken(alice, bob, timed, dataset):
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
    for answer in (asker.ask("put", path, document), asker.patch(path, {"shared": True})):
        assert (answer.status_code, "now=true removes it" in answer.text) == (409, True)
    stranger = Asker(bob).post("/configurations", document)
    assert (stranger.status_code, "is deleted" in stranger.text) == (409, False)
    back = [asker.patch(path, {"archived": False}).json()["changed"] for _ in range(2)]
    assert back == [True, False]
    assert asker.ask("delete", f"{path}?now=true").json()["changed"]
    assert asker.post("/configurations", document).status_code == 201


def test_commands_run_it_say_what_goes_delete_and_bring_back_until_the_sweep(alice, timed):
    for changes in ([], ["seed=5"]):
        said_by("run", "nightly", user="alice", detach=True, json=True, changes=changes)
    tied = Run.objects.order_by("pk").values_list("configuration_version", flat=True)
    assert list(tied) == [2, None]
    told = said_by("delete", "configuration", "nightly")
    assert "nightly: 2 versions, its schedule, its gates; 1 run made from it stays." in told
    assert Configuration.objects.get().remove_after is None
    told = said_by("delete", "configuration", "nightly", yes=True)
    assert told.startswith("Deleted 1 configuration. `restore configuration` brings them back")
    with pytest.raises(CommandError, match="'nightly' is deleted"):
        said_by("run", "nightly", user="alice", detach=True)
    with pytest.raises(ConfigurationError, match=r"'nightly' is deleted.*Bring it back, or remove"):
        save_configuration(alice, "nightly", {**timed.document, "seed": 3})
    sweep()
    assert said_by("restore", "configuration", "nightly") == "Brought back 1 configuration.\n"
    assert Configuration.objects.get().remove_after is None
    delete_configuration(timed, alice)
    Configuration.objects.update(remove_after=now() - timedelta(seconds=1))
    sweep()
    left = (Configuration, ConfigurationVersion, Schedule)
    assert [model.objects.count() for model in left] == [0, 0, 0]
    assert [run.configuration for run in Run.objects.all()] == [None, None]


def test_what_it_names_is_kept_and_no_administrator_changes_it(ada, alice, asker, timed, dataset):
    ada.is_superuser = True
    ada.save()
    delete_configuration(timed, alice)
    used = show(alice, "dataset_remove", dataset.pk)
    assert "1 configuration (1 deleted, not removed yet)" in used
    assert "nightly" in used
    assert "1 configuration; the next one goes on" in " ".join(show(ada, "system").split())
    address = reverse("admin:runs_configuration_change", args=[timed.pk])
    form = {"description": "", "document": write_document(run_document(dataset, seed=3))}
    answer = client_of(ada).post(address, form)
    assert (answer.status_code, "is deleted" in answer.text) == (200, True)
    assert Configuration.objects.get().version == 2
    assert asker.ask("delete", "/datasets/sums").status_code == 409
    asker.ask("delete", "/configurations/nightly?now=true")
    assert asker.ask("delete", "/datasets/sums?now=true").json()["changed"]
