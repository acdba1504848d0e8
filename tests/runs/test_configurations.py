"""Stored configurations: versions that stay, sharing as of runs, and launching them."""

from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import call_command
from django.urls import reverse

from runs.models import Configuration, ConfigurationVersion, Run
from runs.roles import Role
from runs.services.configurations import save_configuration
from runs.services.people.sharing import share_configuration
from tests.api.asking import Asker
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    run_document,
)
from tests.runs.new_run_parts import FILLED
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(alice, endpoint):
    make_endpoint("other")
    return make_dataset(alice, share=True)


@pytest.fixture
def stored(alice, dataset):
    return save_configuration(alice, "nightly", run_document(dataset, seed=1), "Every night.")


def page_of(person, stored, **query):
    return client_of(person).get(stored.get_absolute_url(), query)


def test_another_document_is_another_version_and_the_same_one_is_not(alice, stored, dataset):
    save_configuration(alice, "nightly", run_document(dataset, seed=1), "Each night.")
    assert [one.version for one in stored.versions.all()] == [1]
    save_configuration(alice, "nightly", run_document(dataset, seed=2))
    kept = {one.version: (one.document["seed"], one.saved_by) for one in stored.versions.all()}
    assert kept == {1: (1, alice), 2: (2, alice)}


def test_the_page_shows_versions_and_what_changed_between_two(alice, stored, dataset):
    save_configuration(alice, "nightly", run_document(dataset, seed=77))
    assert "seed: 77" in page_of(alice, stored).text
    assert "seed: 1" in page_of(alice, stored, version=1).text
    changed = page_of(alice, stored, version=2, against=1).text
    assert "[gone: </span>1<" in changed
    assert "[new: </span>77<" in changed
    for query in ({"version": 3}, {"against": 9}, {"version": "x"}):
        assert page_of(alice, stored, **query).status_code == 404


def test_a_private_one_is_nobody_elses_and_a_shared_one_is_launched_by_others(alice, bob, stored):
    listed = reverse("configurations")
    assert "nightly" in client_of(alice).get(listed).text
    assert "nightly" not in client_of(bob).get(listed).text
    assert page_of(bob, stored).status_code == 404
    share_configuration(stored, alice, is_shared=True)
    assert "nightly" in client_of(bob).get(listed).text
    shown = page_of(bob, stored).text
    assert "Stop sharing" not in shown
    assert "Only alice may change it." not in shown  # its description stands there
    client_of(bob).post(reverse("configuration_launch", args=[stored.pk]), {"key": "one"})
    assert Run.objects.get().owner == bob
    assert Asker(bob).ask("patch", "/configurations/nightly", {"shared": False}).status_code == 403


def test_whoever_sees_it_opens_it_as_a_draft(alice, bob, stored):
    def opened(person):
        return client_of(person).get(reverse("run_new"), {"configuration": stored.pk}).status_code

    operator = make_person("olga", role=Role.OPERATOR)
    assert [opened(person) for person in (alice, bob, operator)] == [200, 404, 200]


def test_pressing_launch_twice_starts_one_run_of_its_version(alice, stored, dataset):
    save_configuration(alice, "nightly", run_document(dataset, seed=2))
    address = reverse("configuration_launch", args=[stored.pk])
    for _ in range(2):
        client_of(alice).post(address, {"key": "pressed"})
    run = Run.objects.get()
    assert (run.configuration, run.configuration_version, run.name) == (stored, 2, "nightly")
    shown = client_of(alice).get(run.get_absolute_url()).text
    assert f'href="{stored.get_absolute_url()}"' in shown
    assert f'href="{run.get_absolute_url()}"' in page_of(alice, stored).text


def test_what_keeps_it_from_being_launched_is_said_on_its_page(alice, stored, dataset):
    dataset.delete()
    answer = client_of(alice).post(reverse("configuration_launch", args=[stored.pk]))
    assert answer.status_code == 400
    assert "It was not launched" in answer.text
    assert "There is no dataset" in answer.text


def test_the_new_run_form_saves_it_without_launching(alice, dataset):
    sent = {**FILLED, "save_name": "from the form"}
    answer = client_of(alice).post(reverse("configuration_save"), sent, follow=True)
    assert "Saved from the form, version 1." in answer.text
    stored = Configuration.objects.get()
    assert (stored.owner, stored.document["repeats"], Run.objects.count()) == (alice, 2, 0)
    again = client_of(alice).post(reverse("configuration_save"), sent, follow=True)
    assert "It is version 1 already" in again.text


def test_a_name_of_somebody_else_is_refused_beside_its_field(alice, bob, stored):
    share_configuration(stored, alice, is_shared=True)
    sent = {**FILLED, "save_name": "nightly"}
    answer = client_of(bob).post(reverse("configuration_save"), sent)
    assert answer.status_code == 400
    assert 'href="#id_save_name"' in answer.text
    assert "of somebody else already" in answer.text
    assert Configuration.objects.get().version == 1
    with pytest.raises(ConfigurationError, match="of somebody else"):
        save_configuration(bob, "nightly", stored.document)


def test_a_form_started_from_it_makes_a_run_of_it_only_if_nothing_was_changed(alice, dataset):
    client_of(alice).post(reverse("configuration_save"), {**FILLED, "save_name": "small"})
    stored = Configuration.objects.get()
    address = f"{reverse('run_new')}?configuration={stored.pk}"
    assert 'value="small"' in client_of(alice).get(address).text
    client_of(alice).post(address, FILLED)
    client_of(alice).post(address, {**FILLED, "key": "key-2", "seed": "8"})
    same, changed = Run.objects.order_by("pk")
    assert (same.configuration, same.configuration_version) == (stored, 1)
    assert changed.configuration is None


def test_the_command_line_makes_runs_of_it(alice, stored, capsys):
    call_command("run", "nightly", user="alice", detach=True, json=True)
    call_command("run", "nightly", user="alice", detach=True, json=True, changes=["seed=5"])
    tied = Run.objects.order_by("pk").values_list("configuration_version", flat=True)
    assert list(tied) == [1, None]


def test_it_is_deleted_when_its_name_was_typed_and_its_runs_stay(alice, stored):
    client_of(alice).post(reverse("configuration_launch", args=[stored.pk]))
    address = reverse("configuration_remove", args=[stored.pk])
    assert "1 version; 1 run made from it stays." in client_of(alice).get(address).text
    wrong = client_of(alice).post(address, {"action": "delete", "typed": "night"})
    assert wrong.status_code == 400
    for action in ("delete", "remove"):
        assert Configuration.objects.exists()
        client_of(alice).post(address, {"action": action, "typed": "nightly"})
    assert not Configuration.objects.exists()
    assert Run.objects.get().configuration is None


def test_the_api_has_versions_sharing_and_deleting(alice, bob, stored, dataset):
    asker = Asker(alice)
    assert asker.ask(
        "put", "/configurations/nightly", run_document(dataset, name="nightly", seed=2)
    )
    found = asker.get("/configuration-versions/nightly").json()["versions"]
    assert [(one["version"], one["saved_by"], one["document"]["seed"]) for one in found] == [
        (2, "alice", 2),
        (1, "alice", 1),
    ]
    assert asker.get("/configurations/nightly", version=1).json()["seed"] == 1
    assert asker.get("/configurations/nightly", version=3).status_code == 404
    changes = {"shared": True, "description": "Each night."}
    assert asker.ask("patch", "/configurations/nightly", changes).json()["changed"] is True
    assert asker.ask("patch", "/configurations/nightly", changes).json()["changed"] is False
    (row,) = Asker(bob).get("/configurations").json()["data"]
    assert (row["owner"], row["shared"], row["description"]) == ("alice", True, "Each night.")
    run = asker.post("/runs", {"configuration": "nightly"}).json()["id"]
    shown = asker.get(f"/runs/{run}").json()
    assert (shown["configuration"], shown["configuration_version"]) == ("nightly", 2)
    assert asker.ask("delete", "/configurations/nightly?now=true").json()["changed"] is True
    assert asker.get("/configurations/nightly").status_code == 404


def test_versions_count_as_storage(alice, stored, settings):
    settings.STORED_MEGABYTES = 0
    with pytest.raises(ConfigurationError, match="0 B are allowed"):
        save_configuration(alice, "more", stored.document)


def test_the_list_asks_as_often_for_many_as_for_one(
    alice, stored, dataset, django_assert_max_num_queries
):
    for number in range(5):
        save_configuration(alice, f"another {number}", run_document(dataset))
        Asker(alice).post("/runs", {"configuration": f"another {number}"})
    client = client_of(make_person("olga", role=Role.OPERATOR))
    with django_assert_max_num_queries(14):
        client.get(reverse("configurations"))


def test_configurations_from_before_keep_their_newest_version(alice, stored):
    ConfigurationVersion.objects.all().delete()
    assert "v1" in page_of(alice, stored).text
    import_module("runs.migrations.0043_configurations_over_time").keep_versions(apps, None)
    assert ConfigurationVersion.objects.get().document == stored.document
