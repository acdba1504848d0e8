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


def test_another_document_is_another_version_and_the_page_shows_what_changed(
    alice, stored, dataset
):
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


def test_a_private_one_is_nobody_elses_and_a_shared_one_is_launched_by_others(alice, bob, stored):
    listed = reverse("configurations")
    assert "nightly" in client_of(alice).get(listed).text
    assert "nightly" not in client_of(bob).get(listed).text
    draft = {"configuration": stored.pk}
    assert client_of(bob).get(reverse("run_new"), draft).status_code == 404
    share_configuration(stored, alice, is_shared=True)
    assert "nightly" in client_of(bob).get(listed).text
    shown = page_of(bob, stored).text
    assert "Stop sharing" not in shown
    assert "Only alice may change it." not in shown  # its description stands there
    client_of(bob).post(reverse("configuration_launch", args=[stored.pk]), {"key": "one"})
    assert Run.objects.get().owner == bob


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


def test_what_keeps_it_from_being_launched_is_said_on_its_page(alice, stored, dataset):
    dataset.delete()
    answer = client_of(alice).post(reverse("configuration_launch", args=[stored.pk]))
    assert answer.status_code == 400
    assert "It was not launched" in answer.text
    assert "There is no dataset" in answer.text


def test_the_new_run_form_saves_it_and_makes_a_run_of_it_if_nothing_was_changed(
    alice, bob, dataset
):
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
    assert refused.status_code == 400
    assert 'href="#id_save_name"' in refused.text
    assert "of somebody else already" in refused.text
    assert Configuration.objects.get().version == 1


def test_the_command_line_makes_runs_of_it(alice, stored, capsys):
    call_command("run", "nightly", user="alice", detach=True, json=True)
    call_command("run", "nightly", user="alice", detach=True, json=True, changes=["seed=5"])
    tied = Run.objects.order_by("pk").values_list("configuration_version", flat=True)
    assert list(tied) == [1, None]


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


def test_the_list_asks_as_often_for_many_as_for_one(
    alice, stored, dataset, django_assert_max_num_queries
):
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
