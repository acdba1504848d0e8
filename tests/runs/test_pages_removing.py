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
from tests.runs.form_parts import small_form
from workers.engine.errors import ConfigurationError

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_folder")]


@pytest.fixture
def operator():
    return make_person("olga", role=Role.OPERATOR)


def remove(person, kind, thing, **data):
    return client_of(person).post(reverse(f"{kind}_remove", args=[thing.pk]), data, follow=True)


def page_to_remove(person, dataset):
    return client_of(person).get(reverse("dataset_remove", args=[dataset.pk])).text


def pages(person, *names):
    client = client_of(person)
    return {name: client.get(reverse(name)).text for name in names}


def test_an_unused_dataset_is_deleted_once_its_name_was_typed(alice):
    dataset = make_dataset(alice, "old sums")
    page = page_to_remove(alice, dataset)
    assert "No run and no stored configuration." in page
    refused = remove(alice, "dataset", dataset, action="delete", typed="sums")
    assert refused.status_code == 400
    assert "Type old sums to delete it." in refused.text
    assert Dataset.objects.exists()
    done = remove(alice, "dataset", dataset, action="delete", typed=" old sums ")
    assert "Deleted old sums." in done.text
    assert Dataset.objects.get().remove_after
    assert "Remove old sums, for good now" in page_to_remove(alice, dataset)
    remove(alice, "dataset", dataset, action="remove", typed="old sums")
    assert (Dataset.objects.count(), Case.objects.count()) == (0, 0)


def test_a_used_dataset_is_not_deleted_and_says_what_uses_it(alice, bob, dataset):
    """Runs and configurations of others are counted but not named."""
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    save_configuration(alice, "nightly", {**run_document(dataset), "dataset": "sums"})
    make_run(bob, dataset, name="secret plan")
    save_configuration(bob, "secret list", run_document(dataset))
    page = page_to_remove(alice, dataset)
    assert "Used by 2 runs (1 not ended yet) and 2 configurations." in page
    assert f"first try #{run.pk}" in page
    assert "nightly" in page
    assert "secret" not in page
    assert 'value="delete"' not in page
    refused = remove(alice, "dataset", dataset, action="delete", typed="sums")
    assert refused.status_code == 400
    assert "Archive it instead." in refused.text
    assert Dataset.objects.exists()


def test_one_version_is_deleted_while_another_is_in_use_by_run_or_configuration(alice):
    first = make_dataset(alice, rows=2)
    make_run(alice, first)
    deleted = {}
    for named in ("sums", "sums@2", "sums@1", "other"):
        second = make_dataset(alice, rows=3)
        save_configuration(alice, "nightly", {**run_document(second), "dataset": {"name": named}})
        remove(alice, "dataset", second, action="delete_version", typed="sums v2")
        deleted[named] = not Dataset.objects.filter(version=2).exists()
    assert deleted == {"sums": False, "sums@2": False, "sums@1": True, "other": True}
    assert (Dataset.objects.get(), Case.objects.count()) == (first, 2)


def test_an_archived_dataset_leaves_lists_and_forms_until_it_is_brought_back(alice, bob):
    dataset = make_dataset(alice, "capitals", share=True)
    assert "Delete or archive" not in client_of(bob).get(dataset.get_absolute_url()).text
    run = make_run(alice, dataset)
    answer = remove(alice, "dataset", dataset, action="archive")
    assert "capitals is archived" in answer.text
    shown = pages(alice, "datasets", "run_new", "jump")
    link = f'href="{dataset.get_absolute_url()}"'
    assert "Show archived (1)" in shown["datasets"]
    assert not [name for name, page in shown.items() if link in page]
    assert 'value="capitals"' not in shown["run_new"]
    client = client_of(alice)
    assert link in client.get(reverse("datasets"), {"archived": "1"}).text
    assert client.get(run.get_absolute_url()).status_code == 200
    assert "Bring it back" in client.get(dataset.get_absolute_url()).text
    client.post(reverse("dataset_restore", args=[dataset.pk]))
    assert link in pages(alice, "datasets")["datasets"]


def test_an_archived_dataset_is_refused_for_new_runs_and_comes_back_with_an_import(
    alice, dataset, tmp_path
):
    remove(alice, "dataset", dataset, action="archive")
    with pytest.raises(ConfigurationError, match=r"sums is archived\. Bring it back"):
        create_run(alice, run_document(dataset))
    client = client_of(alice)
    assert "sums is archived" in client.post(reverse("run_estimate"), small_form()).text
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
    assert told in refused.text
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
    assert link in client.get(reverse("endpoints"), {"archived": "1"}).text
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
    assert "used by 1 run (1 not ended yet). Archive it on its page." in one.text
    chosen = {"action": "delete_selected", "_selected_action": [endpoint.pk], "post": "yes"}
    client.post(reverse("admin:runs_endpoint_changelist"), chosen)
    assert Endpoint.objects.exists()
