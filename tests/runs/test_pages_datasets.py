"""Datasets: importing all or nothing, and paging through the rows."""

import logging
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from runs.models import Dataset
from runs.roles import Role
from tests.harness.factories import client_of, make_dataset, make_person, make_run

pytestmark = pytest.mark.django_db

GOOD = "question,expected\nCapital of France?,Paris\nCapital of Japan?,Tokyo\n"


def send(client, **data):
    return client.post(reverse("dataset_import"), {"name": "capitals", **data})


def upload(content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("rows.csv", content, content_type="text/csv")


def test_checking_shows_the_rows_and_saves_nothing(alice):
    answer = send(client_of(alice), text=GOOD, step="preview")
    assert answer.status_code == 200
    assert "Capital of Japan?" in answer.content.decode()
    assert not Dataset.objects.exists()


def test_a_checked_file_is_kept_in_the_form(alice):
    answer = send(client_of(alice), file=upload(GOOD.encode()), step="preview")
    page = answer.content.decode()
    (box,) = re.findall(r"<textarea[^>]*>\s*(.*?)</textarea>", page, re.DOTALL)
    again = send(client_of(alice), text=box, step="import")
    assert again["Location"] == Dataset.objects.get().get_absolute_url()
    assert Dataset.objects.get().rows == 2


def test_importing_a_file_saves_it_as_a_version(alice):
    client = client_of(alice)
    send(client, file=upload(GOOD.encode()), step="import")
    send(client, file=upload(GOOD.encode() + b"Capital of Kenya?,Nairobi\n"), step="import")
    assert [(data.version, data.rows) for data in Dataset.objects.all()] == [(2, 3), (1, 2)]


@pytest.mark.parametrize("step", ["preview", "import"])
@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param({"text": GOOD + "a,b,c\nd\n"}, ["line 4", "line 5"], id="ragged rows"),
        pytest.param({"text": "a,a\n1,2"}, ["line 1"], id="column twice"),
        pytest.param({"text": '{"q": "x"}\n{"q": }'}, ["line 2", "column 7"], id="broken JSON"),
        pytest.param({"text": '[{"q": 1}, {"r": 2}]'}, ["line 1", "Row 2"], id="a row of an array"),
        pytest.param({"file": b"question\n\xff"}, ["UTF-8"], id="not UTF-8"),
        pytest.param({"file": b"q\na\x00b"}, ["line 2"], id="NUL"),
        pytest.param({"text": "  \n"}, ["no rows"], id="nothing"),
        pytest.param({"file": b""}, ["empty"], id="empty file"),
        pytest.param({"text": GOOD, "name": "x@2"}, ["names a version"], id="name"),
        pytest.param({"text": GOOD, "name": ""}, ["Enter a name"], id="no name"),
    ],
)
def test_wrong_rows_are_named_by_line_and_nothing_is_saved(alice, step, data, says):
    if isinstance(data.get("file"), bytes):
        data = {**data, "file": upload(data["file"])}
    answer = send(client_of(alice), **data, step=step)
    if "name" in data and data["name"] == "x@2" and step == "preview":
        return  # a name is judged when it is used
    assert answer.status_code == 400
    text = re.sub(r"<[^>]+>", "", answer.content.decode())
    assert all(part in text for part in says), text[-800:]
    assert not Dataset.objects.exists()


def test_a_file_above_the_limit_is_refused_before_it_is_read(alice):
    large = upload(b"q\n" + b"x" * (20 * 1024 * 1024))
    answer = send(client_of(alice), file=large, step="import")
    assert answer.status_code == 400
    assert "at most 20 MB" in answer.content.decode()


TOO_LARGE = "The data has 25.0 MB; at most 20 MB can be imported. Split it into several datasets."


def browser_of(person):
    """A browser that is checked as a real one is: its form carries a CSRF token."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)
    return client


@pytest.mark.parametrize("part", [{}, {"X-Part": "preview"}], ids=["whole page", "preview only"])
@pytest.mark.parametrize("step", ["preview", "import"])
def test_too_large_a_paste_is_answered_as_a_file_is(alice, caplog, step, part):
    data = {"name": "capitals", "text": "q\n" + "x" * (25 * 1024 * 1024), "step": step}
    answer = browser_of(alice).post(reverse("dataset_import"), data, headers=part)
    assert answer.status_code == 413
    assert TOO_LARGE in answer.content.decode()
    assert not [
        entry for entry in caplog.records if entry.exc_info or entry.levelno > logging.WARNING
    ]
    assert not Dataset.objects.exists()


@pytest.mark.parametrize("address", ["run_new", "run_estimate"])
def test_too_large_a_paste_into_the_new_run_form_is_answered_alike(alice, caplog, address):
    data = {"dataset_source": "paste", "rows": "q\n" + "x" * (25 * 1024 * 1024)}
    answer = browser_of(alice).post(reverse(address), data)
    assert answer.status_code == 413
    told = "The data has 25.0 MB; at most 1 MB is read here. Import many rows as a dataset"
    assert told in answer.content.decode()
    assert not [entry for entry in caplog.records if entry.exc_info]


def test_too_large_a_form_does_nothing_and_says_so_even_from_another_site(alice):
    """Without its token, which is in the part that is not read."""
    run = make_run(alice, make_dataset(alice), state="running", ended=None)
    data = {"padding": "x" * (21 * 1024 * 1024)}
    answer = browser_of(alice).post(reverse("run_cancel", args=[run.pk]), data)
    assert answer.status_code == 413
    assert "at most 20 MB" in answer.content.decode()
    run.refresh_from_db()
    assert run.state == "running"


def test_a_large_form_needs_a_role_as_a_small_one_does(alice):
    viewer = make_person("vic", role=Role.VIEWER)
    data = {"name": "capitals", "text": "x" * (21 * 1024 * 1024)}
    assert browser_of(viewer).post(reverse("dataset_import"), data).status_code == 403
    assert "sign-in" in Client().post(reverse("dataset_import"), data)["Location"]


def test_a_file_and_other_rows_together_are_refused(alice):
    other = "question,expected\nCapital of Peru?,Lima\n"
    answer = send(client_of(alice), file=upload(GOOD.encode()), text=other, step="import")
    assert answer.status_code == 400
    assert "You chose a file and pasted rows. Remove one of them." in answer.content.decode()
    assert not Dataset.objects.exists()


def test_a_file_and_its_own_rows_in_the_box_are_imported(alice):
    """After a check the box holds the file's text, with the line ends of a browser."""
    box = "\ufeff" + GOOD.replace("\n", "\r\n")
    send(client_of(alice), file=upload(GOOD.encode()), text=box, step="import")
    assert Dataset.objects.get().rows == 2


def test_an_import_says_what_it_stored_and_the_same_rows_again_that_they_are_there(alice):
    client = client_of(alice)
    first = client.post(
        reverse("dataset_import"), {"name": "one", "text": "q\n1", "step": "import"}, follow=True
    )
    assert "Imported one v1 (1 row)." in first.content.decode()
    again = client.post(
        reverse("dataset_import"), {"name": "one", "text": "q\n1", "step": "import"}, follow=True
    )
    assert "These rows are one v1 already." in again.content.decode()
    assert "1 rows" not in again.content.decode()


def test_an_array_with_lists_is_imported_and_the_preview_says_what_became_of_them(alice):
    text = '[{"question": "Which?", "choices": ["A", "B"]}]'
    page = send(client_of(alice), text=text, step="preview").content.decode()
    assert "Lists and objects are kept as JSON text: choices." in page
    assert "1 row, 2 columns" in page
    send(client_of(alice), text=text, step="import")
    (case,) = Dataset.objects.get().cases.all()
    assert case.fields == {"question": "Which?", "choices": '["A","B"]'}


def test_the_limits_are_on_the_page_before_anything_is_sent(alice):
    page = client_of(alice).get(reverse("dataset_import")).content.decode()
    assert all(limit in page for limit in ("20 MB", "100,000 rows", "256 KB"))


def test_paging_through_the_rows_shows_each_once(alice):
    dataset = make_dataset(alice, rows=120)
    client, address, seen = client_of(alice), dataset.get_absolute_url(), []
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


def test_the_list_counts_versions_and_runs_of_a_name(alice):
    old = make_dataset(alice, rows=2)
    make_dataset(alice, rows=3)
    make_run(alice, old)
    (row,) = client_of(alice).get(reverse("datasets")).context["datasets"]
    assert (row.version, row.rows, row.versions, row.used_by) == (2, 3, 2, 1)
