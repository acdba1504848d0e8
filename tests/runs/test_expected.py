"""The column of the expected answer: guessed, said at import, changed later, frozen with a run."""

import json
from importlib import import_module
from io import StringIO

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from runs.models import Dataset, Run
from runs.services.configurations import save_configuration
from runs.services.datasets.storing import import_dataset, set_expected_column, store_rows
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, run_document
from tests.runs.new_run_parts import small_form
from workers.engine.kinds import read_configuration
from workers.engine.spec.expected import guess_expected

pytestmark = pytest.mark.django_db

ROWS = [{"question": "2 + 3?", "solution": "5"}, {"question": "4 + 4?", "solution": "8"}]
CSV = "question,solution\n2 + 3?,5\n4 + 4?,8\n"
REFUSED = (
    "The scorer exact compares with an expected answer, and the dataset has no such column. "
    "Its columns: question, solution. Say which one it is: expected: solution."
)


@pytest.fixture
def dataset(alice, endpoint):
    return store_rows(alice, "solved", ROWS)


def words_of(answer):
    return " ".join(answer.text.split())


def form(**fields):
    return small_form(**{"dataset": "solved", "scorer-exact-strip": "on", **fields})


def test_a_column_is_guessed_by_its_name_kept_by_a_new_version_and_changed_for_the_same_rows(alice):
    for columns, guess in (
        (["question", "expected", "answer"], "expected"),
        (["output", "label", "Target", "question"], "Target"),
        (["question", "Answer"], "Answer"),
        (["Expected", "expected"], "expected"),
        (["question", "solution"], ""),
    ):
        assert guess_expected(columns) == guess
        named = store_rows(None, guess or "none", [dict.fromkeys(columns, "1")])
        assert named.expected_column == guess
    import_dataset(alice, "solved", CSV, "csv", "solution")
    assert import_dataset(alice, "solved", CSV + "1 + 1?,2\n", "csv").expected_column == "solution"
    assert import_dataset(alice, "solved", CSV + "1 + 1?,2\n", "csv").version == 2
    again = import_dataset(alice, "solved", CSV + "1 + 1?,2\n", "csv", "question")
    assert (again.version, again.expected_column) == (2, "question")


def test_the_import_page_says_what_it_found_and_takes_another(alice):
    client, page = client_of(alice), reverse("dataset_import")
    given = {"name": "solved", "text": CSV.replace("solution", "answer"), "step": "preview"}
    found = words_of(client.post(page, given))
    assert 'Expected answer: column <b class="mono">answer</b>' in found
    unknown = words_of(client.post(page, {"name": "solved", "text": CSV, "step": "preview"}))
    assert "No column is the expected answer" in unknown
    named = {"name": "solved", "text": CSV, "step": "import", "expected": "answer"}
    wrong = client.post(page, named)
    assert wrong.status_code == 400
    assert "The columns are: question, solution." in words_of(wrong)
    assert not Dataset.objects.exists()
    shown = client.post(page, {**named, "expected": "solution"}, follow=True)
    assert Dataset.objects.get().expected_column == "solution"
    assert 'Expected answer: column <b class="mono">solution</b>' in words_of(shown)
    listed = words_of(client.get(reverse("datasets")))
    assert '<span class="chip mono">solution</span> </td>' in listed
    given = {"name": "one", "text": "question\nWhy?", "step": "import"}
    one = words_of(client.post(page, given, follow=True))
    assert ("(1 row)." in one, "1 row, 1 column." in one) == (True, True)


def test_over_rest_and_on_the_command_line_it_is_said_as_well(alice, tmp_path):
    made = Asker(alice).post("/datasets", {"name": "rest", "rows": ROWS, "expected": "solution"})
    assert (made.status_code, made.json()["expected"]) == (201, "solution")
    wrong = Asker(alice).post("/datasets", {"name": "other", "rows": ROWS, "expected": "gone"})
    assert (wrong.status_code, wrong.json()["problems"][0]["path"]) == (422, "expected")
    file = SimpleUploadedFile("a.csv", CSV.encode())
    upload = {"name": "up", "file": file, "expected": "solution"}
    headers = {"Authorization": f"Bearer {Asker(alice).text}"}
    sent = client_of(alice).post("/api/v1/datasets", upload, headers=headers)
    assert sent.json()["expected"] == "solution"
    file, out = tmp_path / "a.csv", StringIO()
    file.write_text(CSV)
    call_command("import_dataset", "filed", file, "--expected", "solution", stdout=out)
    assert out.getvalue() == "filed v1: 2 rows, 2 columns. Expected answer: solution.\n"
    with pytest.raises(CommandError, match="no column 'gone'"):
        call_command("import_dataset", "filed", file, "--expected", "gone")


def test_it_is_changed_on_the_page_of_the_dataset_and_past_runs_keep_theirs(alice, dataset):
    client = client_of(alice)
    run = create_run(alice, run_document(dataset, expected="question"))
    address = reverse("dataset_columns", args=[dataset.pk])
    roles = {f"role-{number}": "input" for number in range(len(dataset.columns))}
    chosen = {**roles, f"role-{dataset.columns.index('solution')}": "expected"}
    changed = words_of(client.post(address, chosen, follow=True))
    assert "The expected answer is the column solution." in changed
    refused = client.post(address, {**roles, "role-0": "gone"}, follow=True)
    assert "That is no role of a column." in words_of(refused)
    dataset.refresh_from_db()
    assert dataset.expected_column == "solution"
    assert create_run(alice, run_document(dataset)).document["expected"] == "solution"
    run.refresh_from_db()
    assert run.document["expected"] == "question"


def test_a_run_that_cannot_be_judged_is_refused_at_every_door(alice, dataset):
    client, document = client_of(alice), run_document(dataset)
    page = client.post(reverse("run_new"), form())
    assert page.status_code == 400
    found = {(problem.message, problem.field) for problem in page.context["problems"]}
    assert (REFUSED, "id_expected") in found
    for sent in (form(), form(mode="yaml", yaml=json.dumps(document))):
        assert REFUSED in words_of(client.post(reverse("run_estimate"), sent))
    for path in ("/runs", "/runs/estimate"):
        answer = Asker(alice).post(path, {"configuration": document})
        assert answer.status_code == 422
        assert answer.json()["problems"] == [{"path": "expected", "message": REFUSED}]
    assert not Run.objects.exists()


def test_a_run_says_the_column_itself(alice, browser, dataset):
    browser.post(reverse("run_new"), form(expected="solution", first="1"))
    run = Run.objects.get()
    assert (run.document["expected"], run.planned) == ("solution", 1)
    assert run.document["dataset"] == {"name": "solved@1", "first": 1}
    panel = words_of(browser.post(reverse("run_estimate"), form(expected="solution", first="1")))
    assert "1 case (of 2)" in panel
    assert "column solution" in panel
    estimate = Asker(alice).post("/runs/estimate", {"configuration": run.document}).json()
    assert (estimate["cases"], estimate["rows"], estimate["expected"]) == (1, 2, "solution")
    again = browser.get(reverse("run_new"), {"run": run.pk}).context["filled"]
    assert (again.mode, again.dataset) == ("form", "solved")
    assert (again.part.first, again.expected) == ("1", "solution")
    wrong = browser.post(reverse("run_estimate"), form(expected="gone", first="0"))
    fields = {problem.field for problem in wrong.context["problems"]}
    assert fields == {"id_first"}  # the schema first, then the dataset
    gone = browser.post(reverse("run_estimate"), form(expected="gone"))
    assert "The dataset has no column &#x27;gone&#x27;. Its columns: question" in words_of(gone)


def test_a_scorer_that_compares_with_nothing_runs_without(alice, dataset):
    """And runs from before are judged by the column named expected."""
    run = create_run(alice, run_document(dataset, scorers=[{"regex": {"pattern": "[0-9]"}}]))
    assert run.document["expected"] == ""
    assert read_configuration(run.document).expected_column == ""
    document = {**run_document(Dataset(name="x")), "dataset": "x"}
    assert read_configuration(document).expected_column == "expected"


def test_rows_in_place_are_judged_by_what_is_guessed_of_them_and_can_be_read(alice, endpoint):
    rows = "question,answer\n2 + 3?,5\n"
    client_of(alice).post(reverse("run_new"), form(dataset_source="paste", rows=rows))
    run = Run.objects.get()
    assert run.document["expected"] == "answer"
    set_expected_column(run.dataset, "question")
    client_of(alice).post(reverse("run_new"), form(name="sent", dataset_source="paste", rows=rows))
    newest = Run.objects.latest("pk")
    assert (newest.dataset, newest.document["expected"]) == (run.dataset, "answer")
    rows = {"rows": [{"question": "2 + 3?", "expected": "5"}]}
    document = {**run_document(Dataset(name="x")), "name": "n" * 100, "dataset": rows}
    run = create_run(alice, document)
    chosen = read_configuration(run.document).dataset
    assert chosen
    assert chosen.name == f"{run.dataset.name}@1"


def test_a_duplicate_takes_the_newest_version_and_offers_the_one_that_was_used(alice, endpoint):
    old = store_rows(alice, "sums", [{"question": "1?", "expected": "1"}])
    run = create_run(alice, run_document(old))
    client, address = client_of(alice), reverse("run_new")
    assert "The run used" not in words_of(client.get(address, {"run": run.pk}))
    for n in (2, 3):
        store_rows(alice, "sums", [{"question": f"{n}?", "expected": "1"}])
    page = client.get(address, {"run": run.pk})
    assert page.context["filled"].dataset == "sums"
    assert "The run used v1; v3 is the newest. To keep the old one, choose sums@1." in words_of(
        page
    )
    assert '<option value="sums@1">' in words_of(page)
    kept = client.post(f"{address}?run={run.pk}", form(dataset="sums@1", scorers=[]))
    assert '<option value="sums@1" selected>' in words_of(kept)
    client.post(f"{address}?run={run.pk}", form(dataset="sums"))
    assert Run.objects.latest("pk").dataset.version == 3
    warm = {"endpoint": "simulated", "model": "sim-small", "parameters": {"temperature": 1}}
    as_yaml = create_run(alice, run_document(old, models=["simulated/sim-small", warm]))
    filled = client.get(address, {"run": as_yaml.pk}).context["filled"]
    assert filled.yaml.startswith("# The run used v1; v3 is the newest.")
    assert filled.yaml_document()["dataset"] == "sums"


def test_a_configuration_that_names_a_version_stays_with_it(alice, endpoint):
    old = store_rows(alice, "sums", [{"question": "1?", "expected": "1"}])
    store_rows(alice, "sums", [{"question": "2?", "expected": "1"}])
    stored = save_configuration(alice, "pinned", run_document(old))
    page = client_of(alice).get(reverse("run_new"), {"configuration": stored.pk})
    assert page.context["filled"].dataset == "sums@1"
    assert '<option value="sums@1" selected>' in words_of(page)
    assert "newest version is used" not in words_of(page)


def test_old_datasets_are_judged_by_the_column_that_they_were_judged_by(alice):
    names = (("both", ["answer", "expected"]), ("other", ["question", "answer"]))
    for name, columns in names:
        Dataset.objects.create(name=name, columns=columns, digest=name)
    import_module("runs.migrations.0016_dataset_expected_column").fill(apps, None)
    found = dict(Dataset.objects.values_list("name", "expected_column"))
    assert found == {"both": "expected", "other": ""}
