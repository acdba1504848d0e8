"""Datasets have owners and are shared like runs; pasted rows are seen with their run alone."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import call_command
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Case, Configuration, Dataset
from runs.roles import Role
from runs.services.datasets.storing import store_rows
from runs.services.people.sharing import share_run
from runs.services.removing.retention import prune_runs
from runs.services.runs import cancel_run, create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_person, make_run, run_document
from workers.engine.errors import ConfigurationError

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("endpoint")]

SECRET = "the salary of Grace"
ROWS = [{"question": SECRET, "expected": "5"}]
CSV = "question,expected\nWhose rows are these?,bobs\n"
YAML = """name: mine
kind: evaluate
dataset: {dataset}
prompts: [{{name: a, user: "{{{{question}}}}"}}]
models: [simulated/sim-small]
scorers: [exact]
"""


@pytest.fixture
def pasted(alice):
    """A private run of hers."""
    return create_run(alice, {**run_document(Dataset(name="x")), "dataset": {"rows": ROWS}})


def page(person, address, **query):
    return client_of(person).get(address, query).content.decode()


def everywhere(person):
    """What lists and offers datasets."""
    places = [page(person, reverse(name)) for name in ("datasets", "run_new", "jump")]
    return " ".join([*places, Asker(person).get("/datasets").content.decode()])


def test_rows_pasted_into_a_private_run_are_seen_by_nobody_else(pasted, alice, bob):
    address = pasted.dataset.get_absolute_url()
    named = f"/datasets/{pasted.dataset.name}@1"
    assert SECRET in page(alice, address)
    assert Asker(alice).get(named).json()["data"][0]["fields"] == ROWS[0]
    assert client_of(bob).get(address).status_code == 404
    assert Asker(bob).get(named).status_code == 404
    assert Asker(bob).get(f"/datasets/{pasted.dataset.name}").status_code == 404
    with pytest.raises(ConfigurationError, match="There is no dataset"):
        create_run(bob, {**run_document(pasted.dataset)})
    for person in (alice, bob):
        assert pasted.dataset.name not in everywhere(person)


def test_pasted_rows_are_shared_with_their_run_and_go_with_it(pasted, alice, bob):
    address = pasted.dataset.get_absolute_url()
    share_run(pasted, alice, is_shared=True)
    assert SECRET in page(bob, address)
    again = create_run(bob, run_document(pasted.dataset))
    assert again.dataset == pasted.dataset
    share_run(pasted, alice, is_shared=False)
    for run in (pasted, again):
        cancel_run(run)
        assert Case.objects.filter(fields__question=SECRET).exists()
        prune_runs(now() + timedelta(days=1))
    assert not Case.objects.exists()


def test_nobody_adds_a_version_to_the_dataset_of_somebody_else(alice, bob):
    golden = make_dataset(alice, "golden", share=True)
    sent = {"name": "golden", "text": CSV, "step": "import"}
    answer = client_of(bob).post(reverse("dataset_import"), sent)
    assert answer.status_code == 400
    assert "There is a dataset &#x27;golden&#x27; of somebody else already" in answer.text
    refused = Asker(bob).post("/datasets", {"name": " golden ", "rows": [{"question": "1?"}]})
    assert (refused.status_code, refused.json()["problems"][0]["path"]) == (409, "name")
    assert list(Dataset.objects.all()) == [golden]
    # A preview tells nothing of the dataset that has the name.
    store_rows(alice, "silver", [{"hidden_column": "1", "question": "2?"}], "hidden_column")
    sent = {"name": "silver", "text": "hidden_column,question\n1,2?\n", "step": "preview"}
    answer = client_of(bob).post(reverse("dataset_import"), sent)
    assert "Expected answer: column" not in answer.text
    assert "of somebody else already" in answer.text


def test_operators_and_the_host_add_versions_that_stay_the_owners(alice, tmp_path):
    make_dataset(alice, "golden", share=True)
    olga = make_person("olga", role=Role.OPERATOR)
    Asker(olga).post("/datasets", {"name": "golden", "rows": [{"question": "1?"}]})
    file = tmp_path / "rows.csv"
    file.write_text(CSV)
    call_command("import_dataset", "golden", str(file))
    owners = Dataset.objects.values_list("version", "owner__username", "is_shared")
    assert sorted(owners) == [(number, "alice", True) for number in (1, 2, 3)]


def test_a_private_dataset_is_listed_offered_and_found_for_its_owner_and_operators(alice, bob):
    golden = make_dataset(alice, "golden")
    seers = [alice, make_person("olga", role=Role.OPERATOR)]
    assert all("golden" in everywhere(person) for person in seers)
    assert "golden" not in everywhere(bob)
    assert Asker(bob).get("/datasets/golden").status_code == 404
    answer = Asker(alice).patch("/datasets/golden", {"shared": True})
    assert answer.json() == {"applied": True, "changed": True}
    assert "golden" in everywhere(bob)
    assert "What is 0 + 1?" in page(bob, golden.get_absolute_url())
    shown = Asker(bob).get("/datasets/golden").json()["dataset"]
    assert (shown["owner"], shown["shared"]) == ("alice", True)
    # The switch on its page shares all versions, and takes it back.
    make_dataset(alice, "silver")
    newest = make_dataset(alice, "silver", rows=4)
    switch = reverse("dataset_share", args=[newest.pk])
    shared = client_of(alice).post(switch, {"share": "yes"}, follow=True).text
    assert "Shared: everybody on this site may see it." in shared
    assert Dataset.objects.filter(name="silver", is_shared=True).count() == 2
    assert "Stop sharing" not in page(bob, newest.get_absolute_url())
    client_of(alice).post(switch, {"share": "no"})
    assert client_of(bob).get(newest.get_absolute_url()).status_code == 404


@pytest.mark.parametrize("path", ["/runs", "/runs/estimate"])
def test_a_configuration_that_names_a_private_dataset_runs_for_its_owner_only(alice, bob, path):
    golden = make_dataset(alice, "golden")
    preset = {"name": "preset", "kind": "evaluate", "is_preset": True}
    Configuration.objects.create(**preset, document=run_document(golden))
    answer = Asker(bob).post(path, {"configuration": "preset"})
    assert answer.status_code == 422
    problem = answer.json()["problems"][0]
    assert problem["path"] == "dataset"
    assert "ask its owner to share it" in problem["message"]
    assert Asker(alice).post(path, {"configuration": "preset"}).status_code in {200, 202}
    filled = {"mode": "yaml", "yaml": YAML.format(dataset="golden")}
    assert "that you may use" in client_of(bob).post(reverse("run_estimate"), filled).text


def test_a_shared_run_shows_its_cases_but_not_the_rest_of_a_private_dataset(alice, bob):
    golden = make_dataset(alice, "golden")
    make_dataset(alice, "golden", rows=5)
    run = make_run(alice, golden, is_shared=True)
    shown = page(bob, reverse("run_configuration", args=[run.pk]))
    assert "golden v1" in shown
    assert golden.get_absolute_url() not in shown
    form = page(bob, reverse("run_new"), run=run.pk)
    assert "is the newest" not in form
    assert "that you may use" in form


def test_datasets_from_before_stay_in_sight(alice, bob):
    make_dataset(alice, "golden")
    Dataset.objects.create(name="cases made by toy", digest="1", is_hidden=True)
    import_module("runs.migrations.0029_dataset_is_shared").keep_in_sight(apps, None)
    shared = dict(Dataset.objects.values_list("name", "is_shared"))
    assert shared == {"cases made by toy": False, "golden": True}


def test_a_name_with_versions_of_several_people_is_changed_by_operators_only(alice, bob):
    """As there are from before names had an owner."""
    make_dataset(alice, "golden", share=True)
    mixed = make_dataset(alice, "golden", rows=5)
    Dataset.objects.filter(pk=mixed.pk).update(owner=bob)
    for person in (alice, bob):
        answer = client_of(person).post(reverse("dataset_share", args=[mixed.pk]), {"share": "no"})
        assert answer.status_code == 403
    olga = make_person("olga", role=Role.OPERATOR)
    client_of(olga).post(reverse("dataset_share", args=[mixed.pk]), {"share": "no"})
    assert not Dataset.objects.filter(is_shared=True).exists()
