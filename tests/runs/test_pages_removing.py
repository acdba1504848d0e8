"""Datasets and endpoints are deleted when nothing uses them, else archived, and come back."""

import pytest
from django.core.management import call_command
from django.urls import reverse

from runs.models import Case, Configuration, Dataset, Endpoint, Run, RunState
from runs.roles import Role
from runs.services.configurations import save_configuration
from runs.services.demo import start_demo
from runs.services.runs import create_run
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
    run_document,
)
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_folder(settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path


@pytest.fixture
def operator():
    return make_person("olga", role=Role.OPERATOR)


def remove(person, kind, thing, **data):
    return client_of(person).post(reverse(f"{kind}_remove", args=[thing.pk]), data, follow=True)


def pages(person, *names):
    client = client_of(person)
    return {name: client.get(reverse(name)).content.decode() for name in names}


def test_an_unused_dataset_is_deleted_once_its_name_was_typed(alice):
    dataset = make_dataset(alice, "old sums")
    page = client_of(alice).get(reverse("dataset_remove", args=[dataset.pk])).content.decode()
    assert "No run and no stored configuration." in page
    refused = remove(alice, "dataset", dataset, action="delete", typed="sums")
    assert refused.status_code == 400
    assert "Type old sums to delete it." in refused.content.decode()
    assert Dataset.objects.exists()
    done = remove(alice, "dataset", dataset, action="delete", typed=" old sums ")
    assert "Deleted old sums." in done.content.decode()
    assert Dataset.objects.get().remove_after
    page = client_of(alice).get(reverse("dataset_remove", args=[dataset.pk])).content.decode()
    assert "Remove old sums, for good now" in page
    remove(alice, "dataset", dataset, action="remove", typed="old sums")
    assert not Dataset.objects.exists()
    assert not Case.objects.exists()


def test_a_used_dataset_is_not_deleted_and_says_what_uses_it(alice, dataset):
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    save_configuration(alice, "nightly", {**run_document(dataset), "dataset": "sums"})
    page = client_of(alice).get(reverse("dataset_remove", args=[dataset.pk])).content.decode()
    assert "Used by 1 run (1 not ended yet) and 1 configuration." in page
    assert f"first try #{run.pk}" in page
    assert "nightly" in page
    assert 'value="delete"' not in page
    refused = remove(alice, "dataset", dataset, action="delete", typed="sums")
    assert refused.status_code == 400
    assert "Archive it instead." in refused.content.decode()
    assert Dataset.objects.exists()


def test_one_version_is_deleted_while_another_is_in_use(alice):
    first = make_dataset(alice, rows=2)
    second = make_dataset(alice, rows=3)
    make_run(alice, first)
    remove(alice, "dataset", second, action="delete_version", typed="sums v2")
    assert list(Dataset.objects.all()) == [first]
    assert Case.objects.count() == 2


@pytest.mark.parametrize(
    ("named", "deleted"), [("sums", False), ("sums@2", False), ("sums@1", True), ("other", True)]
)
def test_a_configuration_keeps_the_version_that_it_names(alice, named, deleted):
    make_dataset(alice, rows=2)
    second = make_dataset(alice, rows=3)
    save_configuration(alice, "nightly", {**run_document(second), "dataset": {"name": named}})
    remove(alice, "dataset", second, action="delete_version", typed="sums v2")
    assert Dataset.objects.filter(version=2).exists() is not deleted


def test_an_archived_dataset_leaves_lists_and_forms_until_it_is_brought_back(alice):
    dataset = make_dataset(alice, "capitals")
    run = make_run(alice, dataset)
    answer = remove(alice, "dataset", dataset, action="archive")
    assert "capitals is archived" in answer.content.decode()
    shown = pages(alice, "datasets", "run_new", "jump")
    link = f'href="{dataset.get_absolute_url()}"'
    assert link not in shown["datasets"]
    assert "Show archived (1)" in shown["datasets"]
    assert 'value="capitals"' not in shown["run_new"]
    assert link not in shown["jump"]
    client = client_of(alice)
    assert link in client.get(reverse("datasets"), {"archived": "1"}).content.decode()
    assert client.get(run.get_absolute_url()).status_code == 200
    assert "Bring it back" in client.get(dataset.get_absolute_url()).content.decode()
    client.post(reverse("dataset_restore", args=[dataset.pk]))
    assert link in pages(alice, "datasets")["datasets"]


def test_an_archived_dataset_is_refused_for_new_runs_and_comes_back_with_an_import(
    alice, dataset, tmp_path
):
    remove(alice, "dataset", dataset, action="archive")
    with pytest.raises(ConfigurationError, match=r"sums is archived\. Bring it back"):
        create_run(alice, run_document(dataset))
    filled = {"mode": "yaml", "yaml": "name: x\nkind: evaluate\ndataset: sums\n"
              "prompts: [{name: a, user: '{{question}}'}]\nmodels: [simulated/sim-small]\n"
              "scorers: [exact]\n"}  # fmt: skip
    client = client_of(alice)
    assert "sums is archived" in client.post(reverse("run_estimate"), filled).content.decode()
    assert not Run.objects.exists()
    sent = {"name": "sums", "text": "question,expected\n1 + 1?,2\n", "step": "import"}
    client.post(reverse("dataset_import"), sent)
    archived = Dataset.objects.filter(archived__isnull=False)
    assert not archived.exists()
    remove(alice, "dataset", dataset, action="archive")
    assert archived.exists()
    file = tmp_path / "sums.json"
    file.write_text('[{"question": "1 + 1?", "expected": 2}]')
    call_command("import_dataset", "sums", str(file))
    assert not archived.exists()


def test_an_unused_endpoint_is_deleted_and_a_used_one_is_not(operator):
    tried, used, judges = make_endpoint("tried"), make_endpoint(), make_endpoint("judge-farm")
    dataset = make_dataset(operator)
    run = create_run(operator, run_document(dataset))
    Run.objects.filter(pk=run.pk).update(state=RunState.COMPLETED)
    judged = [{"rubric": {"judge": "judge-farm/big", "rubric": "Is it right?"}}]
    Configuration.objects.create(
        name="judged", kind="evaluate", document=run_document(dataset, scorers=judged)
    )
    remove(operator, "endpoint", tried, action="delete", typed="tried")
    assert set(Endpoint.objects.filter(remove_after=None)) == {used, judges}
    remove(operator, "endpoint", tried, action="remove", typed="tried")
    assert set(Endpoint.objects.all()) == {used, judges}
    refused = remove(operator, "endpoint", used, action="delete", typed="simulated")
    told = "simulated is used by 1 run and 1 configuration. Archive it instead."
    assert told in refused.content.decode()
    remove(operator, "endpoint", judges, action="delete", typed="judge-farm")
    assert set(Endpoint.objects.filter(remove_after=None)) == {used, judges}


def test_an_archived_endpoint_leaves_lists_and_forms_and_its_runs_go_on(operator):
    endpoint = make_endpoint()
    dataset = make_dataset(operator)
    run = create_run(operator, run_document(dataset))
    remove(operator, "endpoint", endpoint, action="archive")
    shown = pages(operator, "endpoints", "endpoints_use", "run_new", "jump")
    link = f'href="{endpoint.get_absolute_url()}"'
    assert not [name for name, page in shown.items() if link in page]
    assert "simulated/sim-small" not in shown["run_new"]
    client = client_of(operator)
    assert link in client.get(reverse("endpoints"), {"archived": "1"}).content.decode()
    with pytest.raises(ConfigurationError, match=r"simulated is archived\. Have it brought back"):
        create_run(operator, run_document(dataset))
    assert client.get(run.get_absolute_url()).status_code == 200
    client.post(reverse("endpoint_restore", args=[endpoint.pk]))
    assert "simulated/sim-small" in pages(operator, "run_new")["run_new"]


def test_the_demo_brings_back_what_it_needs(operator):
    start_demo(operator)
    remove(operator, "endpoint", Endpoint.objects.get(), action="archive")
    remove(operator, "dataset", Dataset.objects.get(), action="archive")
    assert start_demo(operator).planned


def test_the_admin_deletes_no_endpoint_that_is_used(ada, endpoint):
    ada.is_superuser = True
    ada.save()
    create_run(ada, run_document(make_dataset(ada)))
    client = client_of(ada)
    one = client.post(reverse("admin:runs_endpoint_delete", args=[endpoint.pk]), {"post": "yes"})
    assert "used by 1 run (1 not ended yet). Archive it on its page." in one.content.decode()
    chosen = {"action": "delete_selected", "_selected_action": [endpoint.pk], "post": "yes"}
    client.post(reverse("admin:runs_endpoint_changelist"), chosen)
    assert Endpoint.objects.exists()


def test_a_dataset_of_somebody_else_is_not_theirs_to_remove(alice, bob, operator):
    dataset = make_dataset(alice, share=True)
    assert remove(bob, "dataset", dataset, action="archive").status_code == 403
    page = client_of(bob).get(dataset.get_absolute_url()).content.decode()
    assert "Delete or archive" not in page
    assert remove(operator, "dataset", dataset, action="archive").status_code == 200


def test_runs_and_configurations_of_others_are_counted_but_not_named(alice, bob, dataset):
    make_run(bob, dataset, name="secret plan")
    save_configuration(bob, "secret list", run_document(dataset))
    page = client_of(alice).get(reverse("dataset_remove", args=[dataset.pk])).content.decode()
    assert "Used by 1 run and 1 configuration." in page
    assert "secret" not in page
