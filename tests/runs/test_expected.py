"""The column of the expected answer: guessed, chosen, changed, frozen with a run."""

import logging
import re
from html import unescape
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from runs.models import Dataset, Run
from runs.roles import Role
from runs.services.configurations import save_configuration
from runs.services.datasets.storing import import_dataset, set_expected_column, store_rows
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_person, make_run, run_document
from tests.runs.conftest import said_by, words_of
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
    file = tmp_path / "a.csv"
    file.write_text(CSV)
    told = said_by("import_dataset", "filed", file, "--expected", "solution")
    assert told == "filed v1: 2 rows, 2 columns. Expected answer: solution.\n"
    with pytest.raises(CommandError, match="no column 'gone'"):
        call_command("import_dataset", "filed", file, "--expected", "gone")


def test_a_run_that_cannot_be_judged_is_refused_at_every_door(alice, dataset):
    client = client_of(alice)
    page = client.post(reverse("run_new"), form())
    assert page.status_code == 400
    found = {(problem.message, problem.field) for problem in page.context["problems"]}
    assert (REFUSED, "id_expected") in found
    assert REFUSED in words_of(client.post(reverse("run_estimate"), form()))
    answer = Asker(alice).post("/runs", {"configuration": run_document(dataset)})
    told = {"path": "expected", "message": REFUSED}
    assert (answer.status_code, answer.json()["problems"]) == (422, [told])
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


def test_it_is_changed_on_the_page_of_the_dataset_and_past_runs_keep_theirs_or_none(alice, dataset):
    """And runs from before are judged by the column named expected."""
    run = create_run(alice, run_document(dataset, scorers=[{"regex": {"pattern": "[0-9]"}}]))
    assert run.document["expected"] == ""
    assert read_configuration(run.document).expected_column == ""
    document = {**run_document(Dataset(name="x")), "dataset": "x"}
    assert read_configuration(document).expected_column == "expected"
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


def test_rows_in_place_are_judged_by_what_is_guessed_of_them_and_can_be_read(alice, endpoint):
    rows = "question,answer\n2 + 3?,5\n"
    client_of(alice).post(reverse("run_new"), form(dataset_source="paste", rows=rows))
    run = Run.objects.get()
    assert run.document["expected"] == "answer"
    set_expected_column(run.dataset, "question")
    client_of(alice).post(reverse("run_new"), form(name="sent", dataset_source="paste", rows=rows))
    newest = Run.objects.latest("pk")
    assert (newest.dataset, newest.document["expected"]) == (run.dataset, "answer")
    given = {"rows": [{"question": "2 + 3?", "expected": "5"}]}
    document = {**run_document(Dataset(name="x")), "name": "n" * 100, "dataset": given}
    run = create_run(alice, document)
    chosen = read_configuration(run.document).dataset
    assert chosen
    assert chosen.name == f"{run.dataset.name}@1"


def test_a_duplicate_takes_the_newest_version_and_a_configuration_its_own(alice, endpoint):
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
    stored = save_configuration(alice, "pinned", run_document(old))
    page = client.get(address, {"configuration": stored.pk})
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


GOOD = "question,expected\nCapital of France?,Paris\nCapital of Japan?,Tokyo\n"


def send(client, *, follow=False, **data):
    return client.post(reverse("dataset_import"), {"name": "capitals", **data}, follow=follow)


def upload(content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("rows.csv", content, content_type="text/csv")


def test_checking_saves_nothing_and_keeps_a_file_in_the_form_which_is_imported_then(alice):
    client = client_of(alice)
    form = client.get(reverse("dataset_import")).text
    assert all(limit in form for limit in ("20 MB", "100,000 rows", "256 KB"))
    text = '[{"question": "Which?", "choices": ["A", "B"]}]'
    answer = send(client, file=upload(text.encode()), step="preview")
    page = answer.text
    assert answer.status_code == 200
    assert "Which?" in page
    assert "Lists and objects are kept as JSON text: choices." in page
    assert "1 row, 2 columns" in page
    assert not Dataset.objects.exists()
    (box,) = re.findall(r"<textarea[^>]*>\s*(.*?)</textarea>", page, re.DOTALL)
    first = send(client, text=unescape(box), step="import", follow=True)
    stored = Dataset.objects.get()
    assert first.redirect_chain[-1][0] == stored.get_absolute_url()
    assert "Imported capitals v1 (1 row)." in first.text
    assert stored.cases.get().fields == {"question": "Which?", "choices": '["A","B"]'}
    again = send(client, text=text, step="import", follow=True).text
    assert ("These rows are capitals v1 already." in again, "1 rows" in again) == (True, False)
    # After a check the box holds the file's text, with the line ends of a browser.
    box = "\ufeff" + GOOD.replace("\n", "\r\n")
    send(client, file=upload(GOOD.encode()), text=box, step="import")
    assert [(data.version, data.rows) for data in Dataset.objects.all()] == [(2, 2), (1, 1)]


WRONG_ROWS: list[tuple[dict[str, Any], list[str]]] = [
    ({"text": GOOD + "a,b,c\nd\n"}, ["line 4", "line 5"]),
    ({"file": b"question\n\xff"}, ["UTF-8"]),
    ({"file": b""}, ["empty"]),
    ({"text": GOOD, "name": ""}, ["Enter a name"]),
    (
        {"file": GOOD.encode(), "text": "question,expected\nCapital of Peru?,Lima\n"},
        ["You chose a file and pasted rows. Remove one of them."],
    ),
    ({"file": b"q\n" + b"x" * (20 * 1024 * 1024)}, ["at most 20 MB"]),
]


def test_wrong_rows_are_named_by_line_and_nothing_is_saved(alice):
    client, wrong = client_of(alice), []
    for place, (data, says) in enumerate(WRONG_ROWS):
        sent = {**data, "file": upload(data["file"])} if "file" in data else data
        answer = send(client, **sent, step="import" if place else "preview")
        text = re.sub(r"<[^>]+>", "", answer.text)
        if answer.status_code != 400 or not all(part in text for part in says):
            wrong.append((says, answer.status_code, text[-800:]))
    assert wrong == []
    assert not Dataset.objects.exists()


TOO_LARGE = "The data has 25.0 MB; at most 20 MB can be imported. Split it into several datasets."


def browser_of(person):
    """A browser that is checked as a real one is: its form carries a CSRF token."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)
    return client


def test_too_large_a_paste_is_answered_as_a_file_is(alice, caplog):
    """Of the whole page and of the preview only; and into the new-run form alike."""
    client, large = browser_of(alice), "q\n" + "x" * (25 * 1024 * 1024)
    for part in ({}, {"X-Part": "preview"}):
        data = {"name": "capitals", "text": large, "step": "preview"}
        answer = client.post(reverse("dataset_import"), data, headers=part)
        assert answer.status_code == 413, part
        assert TOO_LARGE in answer.text, part
    told = "The data has 25.0 MB; at most 1 MB is read here. Import many rows as a dataset"
    for address in ("run_new", "run_estimate"):
        answer = client.post(reverse(address), {"dataset_source": "paste", "rows": large})
        assert answer.status_code == 413, address
        assert told in answer.text, address
    assert [one for one in caplog.records if one.exc_info or one.levelno > logging.WARNING] == []
    assert not Dataset.objects.exists()


def test_too_large_a_form_does_nothing_says_so_without_its_token_and_needs_a_role(alice):
    """The token is in the part that is not read."""
    run = make_run(alice, make_dataset(alice), state="running", ended=None)
    data = {"name": "capitals", "text": "x" * (21 * 1024 * 1024)}
    answer = browser_of(alice).post(reverse("run_cancel", args=[run.pk]), data)
    assert (answer.status_code, "at most 20 MB" in answer.text) == (413, True)
    run.refresh_from_db()
    assert run.state == "running"
    viewer = make_person("vic", role=Role.VIEWER)
    assert browser_of(viewer).post(reverse("dataset_import"), data).status_code == 403
    assert "sign-in" in Client().post(reverse("dataset_import"), data)["Location"]


def test_the_list_counts_versions_and_paging_through_the_rows_shows_each_once(alice):
    make_run(alice, make_dataset(alice, rows=2))
    client, address, seen = client_of(alice), make_dataset(alice, rows=120).get_absolute_url(), []
    (row,) = client.get(reverse("datasets")).context["datasets"]
    assert (row.version, row.rows, row.versions, row.used_by) == (2, 120, 2, 1)
    answer = client.get(address)
    while True:
        seen += [row.number for row in answer.context["rows"]]
        following = answer.context["page"].next
        if following is None:
            break
        answer = client.get(address, {"after": following})
    assert seen == list(range(1, 121))
    back = client.get(address, {"before": answer.context["page"].previous})
    assert [row.number for row in back.context["rows"]] == list(range(51, 101))
