"""Datasets: importing all or nothing, and paging through the rows."""

import logging
import re
from itertools import product
from typing import Any

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
    form = client_of(alice).get(reverse("dataset_import")).content.decode()
    assert all(limit in form for limit in ("20 MB", "100,000 rows", "256 KB"))
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


WRONG: list[tuple[dict[str, Any], list[str]]] = [
    ({"text": GOOD + "a,b,c\nd\n"}, ["line 4", "line 5"]),
    ({"text": "a,a\n1,2"}, ["line 1"]),
    ({"text": '{"q": "x"}\n{"q": }'}, ["line 2", "column 7"]),
    ({"text": '[{"q": 1}, {"r": 2}]'}, ["line 1", "Row 2"]),
    ({"file": b"question\n\xff"}, ["UTF-8"]),
    ({"file": b"q\na\x00b"}, ["line 2"]),
    ({"text": "  \n"}, ["no rows"]),
    ({"file": b""}, ["empty"]),
    ({"text": GOOD, "name": "x@2"}, ["names a version"]),
    ({"text": GOOD, "name": ""}, ["Enter a name"]),
]


def test_wrong_rows_are_named_by_line_and_nothing_is_saved(alice):
    client, wrong = client_of(alice), []
    for (data, says), step in product(WRONG, ("preview", "import")):
        if data.get("name") == "x@2" and step == "preview":
            continue  # a name is judged when it is used
        sent = {**data, "file": upload(data["file"])} if "file" in data else data
        answer = send(client, **sent, step=step)
        text = re.sub(r"<[^>]+>", "", answer.content.decode())
        if answer.status_code != 400 or not all(part in text for part in says):
            wrong.append((step, data, answer.status_code, text[-800:]))
    assert wrong == []
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


def test_too_large_a_paste_is_answered_as_a_file_is(alice, caplog):
    """Of the whole page and of the preview only; and into the new-run form alike."""
    client, large = browser_of(alice), "q\n" + "x" * (25 * 1024 * 1024)
    for step, part in product(("preview", "import"), ({}, {"X-Part": "preview"})):
        data = {"name": "capitals", "text": large, "step": step}
        answer = client.post(reverse("dataset_import"), data, headers=part)
        assert answer.status_code == 413, (step, part)
        assert TOO_LARGE in answer.content.decode(), (step, part)
    told = "The data has 25.0 MB; at most 1 MB is read here. Import many rows as a dataset"
    for address in ("run_new", "run_estimate"):
        answer = client.post(reverse(address), {"dataset_source": "paste", "rows": large})
        assert answer.status_code == 413, address
        assert told in answer.content.decode(), address
    loud = [one for one in caplog.records if one.exc_info or one.levelno > logging.WARNING]
    assert loud == []
    assert not Dataset.objects.exists()


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
    client, sent = client_of(alice), {"name": "one", "text": "q\n1", "step": "import"}
    first = client.post(reverse("dataset_import"), sent, follow=True).content.decode()
    assert "Imported one v1 (1 row)." in first
    again = client.post(reverse("dataset_import"), sent, follow=True).content.decode()
    assert "These rows are one v1 already." in again
    assert "1 rows" not in again


def test_an_array_with_lists_is_imported_and_the_preview_says_what_became_of_them(alice):
    text = '[{"question": "Which?", "choices": ["A", "B"]}]'
    page = send(client_of(alice), text=text, step="preview").content.decode()
    assert "Lists and objects are kept as JSON text: choices." in page
    assert "1 row, 2 columns" in page
    send(client_of(alice), text=text, step="import")
    (case,) = Dataset.objects.get().cases.all()
    assert case.fields == {"question": "Which?", "choices": '["A","B"]'}


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
