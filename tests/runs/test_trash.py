"""Datasets and endpoints that are deleted come back for a while; then they go for good."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Case, Dataset, Endpoint, Run, RunState
from runs.services.configurations import save_configuration
from runs.services.removing.archiving import remove_due_parts
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_run, run_document
from tests.runs.test_retention import full_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_folder")]


def pass_the_time():
    for model in (Dataset, Endpoint):
        deleted = model._default_manager.filter(remove_after__isnull=False)
        deleted.update(remove_after=now() - timedelta(seconds=1))


def say(command, *names, **options):
    out = StringIO()
    call_command(command, *names, stdout=out, **options)
    return out.getvalue()


@pytest.mark.postgresql("locks and the database's clock: what is due goes")
def test_a_deleted_dataset_comes_back_whole_until_its_time_is_over(ada):
    dataset = make_dataset(ada)
    client, page = client_of(ada), reverse("dataset_remove", args=[dataset.pk])
    told = client.post(page, {"action": "delete", "typed": "sums"}, follow=True).text
    assert "It can be brought back for 7 days" in told
    assert "sums is deleted." in client.get(dataset.get_absolute_url()).text
    remove_due_parts()
    client.post(reverse("dataset_restore", args=[dataset.pk]))
    dataset.refresh_from_db()
    assert (dataset.archived, dataset.remove_after, Case.objects.count()) == (None, None, 3)
    pass_the_time()
    remove_due_parts()
    assert Dataset.objects.exists(), "nothing is due any more"
    client.post(page, {"action": "delete", "typed": "sums"})
    pass_the_time()
    remove_due_parts()
    assert (Dataset.objects.count(), Case.objects.count()) == (0, 0)


def test_what_came_into_use_meanwhile_stays_archived(ada, endpoint):
    dataset = make_dataset(ada)
    asker = Asker(ada)
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
    told = say("delete", "run", str(run.pk))
    assert "1 run, 3 scores, 3 records; 1 cached answer stays." in told
    assert Run.objects.get().archived is None
    assert say("delete", "run", f"#{run.pk}", yes=True).startswith("Deleted 1 run.")
    assert say("delete", "run", str(run.pk), yes=True).startswith("Deleted 0 runs.")
    assert say("restore", "run", str(run.pk)) == "Brought back 1 run.\n"
    assert say("archive", "run", str(run.pk)) == "Archived 1 run.\n"
    with pytest.raises(CommandError, match="sums is used by 1 run"):
        say("delete", "dataset", "sums", yes=True)
    make_dataset(ada, "old")
    make_endpoint("tried")
    assert "1 version, 3 rows" in say("delete", "dataset", "old")
    say("delete", "dataset", "old", yes=True)
    say("delete", "endpoint", "tried", yes=True)
    assert Dataset.objects.get(name="old").remove_after
    assert say("restore", "endpoint", "tried") == "Brought back 1 endpoint.\n"


def test_a_command_names_what_it_does_not_find_and_refuses_a_run_that_goes_on(ada, dataset):
    run = make_run(ada, dataset, state=RunState.RUNNING, ended=None)
    for what, name, told in (
        ("run", "x", "'x' is no run"),
        ("run", "99", "There is no run '99'"),
        ("dataset", "none", "There is no dataset 'none'"),
        ("run", str(run.pk), "Cancel it first"),
    ):
        with pytest.raises(CommandError, match=told):
            say("delete", what, name, yes=True)
