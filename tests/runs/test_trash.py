"""Datasets and endpoints go when nothing uses them, else into the archive, and come back."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Case, Configuration, Dataset, Endpoint, Run, RunState
from runs.roles import Role
from runs.services.configurations import save_configuration
from runs.services.removing.archiving import remove_due_parts
from runs.services.runs import create_run
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
from tests.runs.new_run_parts import small_form
from tests.runs.test_retention import full_run
from workers.engine.errors import ConfigurationError

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_folder")]


@pytest.fixture
def operator():
    return make_person("olga", role=Role.OPERATOR)


def remove(person, kind, thing, **data):
    return client_of(person).post(reverse(f"{kind}_remove", args=[thing.pk]), data, follow=True)


def pages(person, *names):
    client = client_of(person)
    return {name: client.get(reverse(name)).text for name in names}


def pass_the_time():
    for model in (Dataset, Endpoint):
        deleted = model._default_manager.filter(remove_after__isnull=False)
        deleted.update(remove_after=now() - timedelta(seconds=1))


@pytest.mark.postgresql("locks and the database's clock: what is due goes")
def test_an_unused_dataset_is_deleted_by_its_name_and_comes_back_until_its_time_is_over(alice):
    dataset = make_dataset(alice, "old sums")
    assert "No run and no stored configuration." in show(alice, "dataset_remove", dataset.pk)
    refused = remove(alice, "dataset", dataset, action="delete", typed="sums")
    assert (refused.status_code, Dataset.objects.count()) == (400, 1)
    assert "Type old sums to delete it." in refused.text
    done = remove(alice, "dataset", dataset, action="delete", typed=" old sums ").text
    assert "Deleted old sums. It can be brought back for 7 days" in " ".join(done.split())
    client = client_of(alice)
    assert "old sums is deleted." in client.get(dataset.get_absolute_url()).text
    remove_due_parts()
    client.post(reverse("dataset_restore", args=[dataset.pk]))
    dataset.refresh_from_db()
    assert (dataset.archived, dataset.remove_after, Case.objects.count()) == (None, None, 3)
    pass_the_time()
    remove_due_parts()
    assert Dataset.objects.exists(), "nothing is due any more"
    remove(alice, "dataset", dataset, action="delete", typed="old sums")
    pass_the_time()
    remove_due_parts()
    assert (Dataset.objects.count(), Case.objects.count()) == (0, 0)
    dataset = make_dataset(alice, "old sums")
    remove(alice, "dataset", dataset, action="delete", typed="old sums")
    assert "Remove old sums, for good now" in show(alice, "dataset_remove", dataset.pk)
    remove(alice, "dataset", dataset, action="remove", typed="old sums")
    assert (Dataset.objects.count(), Case.objects.count()) == (0, 0)


def test_a_used_dataset_is_not_deleted_and_says_what_uses_it(alice, bob, dataset):
    """Runs and configurations of others are counted but not named."""
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    save_configuration(alice, "nightly", {**run_document(dataset), "dataset": "sums"})
    make_run(bob, dataset, name="secret plan")
    save_configuration(bob, "secret list", run_document(dataset))
    page = show(alice, "dataset_remove", dataset.pk)
    told = "Used by 2 runs (1 not ended yet) and 2 configurations."
    assert [text for text in (told, f"first try #{run.pk}", "nightly") if text not in page] == []
    assert [text for text in ("secret", 'value="delete"') if text in page] == []
    refused = remove(alice, "dataset", dataset, action="delete", typed="sums")
    assert (refused.status_code, Dataset.objects.count()) == (400, 1)
    assert "Archive it instead." in refused.text


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


def test_an_archived_dataset_is_in_no_list_and_refused_until_it_is_back(
    alice, browser, dataset, tmp_path
):
    run = make_run(alice, dataset)
    assert "sums is archived" in remove(alice, "dataset", dataset, action="archive").text
    shown = pages(alice, "datasets", "run_new", "jump")
    link = f'href="{dataset.get_absolute_url()}"'
    assert "Show archived (1)" in shown["datasets"]
    assert not [name for name, page in shown.items() if link in page]
    assert 'value="sums"' not in shown["run_new"]
    assert link in browser.get(reverse("datasets"), {"archived": "1"}).text
    assert browser.get(run.get_absolute_url()).status_code == 200
    assert "Bring it back" in browser.get(dataset.get_absolute_url()).text
    browser.post(reverse("dataset_restore", args=[dataset.pk]))
    assert link in pages(alice, "datasets")["datasets"]
    archived = Dataset.objects.filter(archived__isnull=False)
    remove(alice, "dataset", dataset, action="archive")
    with pytest.raises(ConfigurationError, match=r"sums is archived\. Bring it back"):
        create_run(alice, run_document(dataset))
    assert "sums is archived" in browser.post(reverse("run_estimate"), small_form()).text
    sent = {"name": "sums", "text": "question,expected\n1 + 1?,2\n", "step": "import"}
    browser.post(reverse("dataset_import"), sent)
    assert not archived.exists()
    remove(alice, "dataset", dataset, action="archive")
    assert archived.exists()
    file = tmp_path / "sums.json"
    file.write_text('[{"question": "1 + 1?", "expected": 2}]')
    call_command("import_dataset", "sums", str(file))
    assert not archived.exists()


def test_an_unused_endpoint_is_deleted_and_a_used_one_is_not_nor_by_the_admin(operator, ada):
    tried, used, judges = make_endpoint("tried"), make_endpoint(), make_endpoint("judge-farm")
    dataset = make_dataset(operator)
    create_run(operator, run_document(dataset))
    judged = [{"rubric": {"judge": "judge-farm/big", "rubric": "Is it right?"}}]
    document = run_document(dataset, scorers=judged)
    Configuration.objects.create(name="judged", kind="evaluate", document=document)
    remove(operator, "endpoint", tried, action="delete", typed="tried")
    assert set(Endpoint.objects.filter(remove_after=None)) == {used, judges}
    remove(operator, "endpoint", tried, action="remove", typed="tried")
    told = "used by 1 run (1 not ended yet) and 1 configuration. Archive it"
    refused = remove(operator, "endpoint", used, action="delete", typed="simulated")
    assert f"simulated is {told} instead." in refused.text
    remove(operator, "endpoint", judges, action="delete", typed="judge-farm")
    ada.is_superuser = True
    ada.save()
    client = client_of(ada)
    one = client.post(reverse("admin:runs_endpoint_delete", args=[used.pk]), {"post": "yes"})
    assert f"{told} on its page." in one.text
    chosen = {"action": "delete_selected", "_selected_action": [used.pk], "post": "yes"}
    client.post(reverse("admin:runs_endpoint_changelist"), chosen)
    assert set(Endpoint.objects.all()) == {used, judges}
    assert not Endpoint.objects.exclude(remove_after=None).exists()


def test_an_archived_endpoint_leaves_lists_and_forms_and_its_runs_go_on(operator, endpoint):
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


def test_what_came_into_use_meanwhile_stays_archived(ada, endpoint):
    dataset, asker = make_dataset(ada), Asker(ada)
    for path in ("/datasets/sums", "/endpoints/simulated"):
        assert asker.ask("delete", path).json()["changed"]
        assert asker.get(path).json().get("remove_after", "within") is not None
    save_configuration(ada, "nightly", run_document(dataset))
    pass_the_time()
    remove_due_parts()
    for thing in (dataset, endpoint):
        thing.refresh_from_db()
        assert (thing.archived is not None, thing.remove_after) == (True, None)


def test_an_import_brings_a_deleted_dataset_back_and_by_rest_things_go_at_once(ada, endpoint):
    asker = Asker(ada)
    for path in ("/datasets/sums", "/datasets/sums?now=true", "/endpoints/simulated?now=true"):
        again = make_dataset(ada)
        assert (again.archived, again.remove_after, Dataset.objects.count()) == (None, None, 1)
        assert asker.ask("delete", path).json()["changed"]
    assert (Dataset.objects.count(), Endpoint.objects.count()) == (1, 0)


def test_commands_count_delete_archive_and_bring_back(ada):
    dataset = make_dataset(ada)
    run = full_run(ada, dataset, "a")
    assert "1 run, 3 scores, 3 records; 1 cached answer stays." in said_by(
        "delete", "run", str(run.pk)
    )
    assert Run.objects.get().archived is None
    assert said_by("delete", "run", f"#{run.pk}", yes=True).startswith("Deleted 1 run.")
    assert said_by("delete", "run", str(run.pk), yes=True).startswith("Deleted 0 runs.")
    assert said_by("restore", "run", str(run.pk)) == "Brought back 1 run.\n"
    assert said_by("archive", "run", str(run.pk)) == "Archived 1 run.\n"
    make_dataset(ada, "old")
    make_endpoint("tried")
    assert "1 version, 3 rows" in said_by("delete", "dataset", "old")
    said_by("delete", "dataset", "old", yes=True)
    said_by("delete", "endpoint", "tried", yes=True)
    assert Dataset.objects.get(name="old").remove_after
    assert said_by("restore", "endpoint", "tried") == "Brought back 1 endpoint.\n"
    going = make_run(ada, dataset, state=RunState.RUNNING, ended=None)
    for what, name, refusal in (
        ("run", "x", "'x' is no run"),
        ("dataset", "none", "There is no dataset 'none'"),
        ("dataset", "sums", "sums is used by 2 runs"),
        ("run", str(going.pk), "Cancel it first"),
    ):
        with pytest.raises(CommandError, match=refusal):
            said_by("delete", what, name, yes=True)
