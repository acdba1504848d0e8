"""Datasets: importing all or nothing, and paging through the rows."""

import logging
import re
from html import unescape
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


def send(client, *, follow=False, **data):
    return client.post(reverse("dataset_import"), {"name": "capitals", **data}, follow=follow)


def upload(content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("rows.csv", content, content_type="text/csv")


def test_checking_saves_nothing_and_keeps_a_file_in_the_form_which_is_imported_then(alice):
    client = client_of(alice)
    form = client.get(reverse("dataset_import")).content.decode()
    assert all(limit in form for limit in ("20 MB", "100,000 rows", "256 KB"))
    text = '[{"question": "Which?", "choices": ["A", "B"]}]'
    answer = send(client, file=upload(text.encode()), step="preview")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "Which?" in page
    assert "Lists and objects are kept as JSON text: choices." in page
    assert "1 row, 2 columns" in page
    assert not Dataset.objects.exists()
    (box,) = re.findall(r"<textarea[^>]*>\s*(.*?)</textarea>", page, re.DOTALL)
    first = send(client, text=unescape(box), step="import", follow=True)
    stored = Dataset.objects.get()
    assert first.redirect_chain[-1][0] == stored.get_absolute_url()
    assert "Imported capitals v1 (1 row)." in first.content.decode()
    assert stored.cases.get().fields == {"question": "Which?", "choices": '["A","B"]'}
    again = send(client, text=text, step="import", follow=True).content.decode()
    assert "These rows are capitals v1 already." in again
    assert "1 rows" not in again
    # After a check the box holds the file's text, with the line ends of a browser.
    box = "\ufeff" + GOOD.replace("\n", "\r\n")
    send(client, file=upload(GOOD.encode()), text=box, step="import")
    assert [(data.version, data.rows) for data in Dataset.objects.all()] == [(2, 2), (1, 1)]


WRONG: list[tuple[dict[str, Any], list[str]]] = [
    ({"text": GOOD + "a,b,c\nd\n"}, ["line 4", "line 5"]),
    ({"text": '{"q": "x"}\n{"q": }'}, ["line 2", "column 7"]),
    ({"file": b"question\n\xff"}, ["UTF-8"]),
    ({"text": "  \n"}, ["no rows"]),
    ({"file": b""}, ["empty"]),
    ({"text": GOOD, "name": "x@2"}, ["names a version"]),
    ({"text": GOOD, "name": ""}, ["Enter a name"]),
    (
        {"file": GOOD.encode(), "text": "question,expected\nCapital of Peru?,Lima\n"},
        ["You chose a file and pasted rows. Remove one of them."],
    ),
    ({"file": b"q\n" + b"x" * (20 * 1024 * 1024)}, ["at most 20 MB"]),
]


def test_wrong_rows_are_named_by_line_and_nothing_is_saved(alice):
    client, wrong = client_of(alice), []
    for place, (data, says) in enumerate(WRONG):
        sent = {**data, "file": upload(data["file"])} if "file" in data else data
        answer = send(client, **sent, step="import" if place else "preview")
        text = re.sub(r"<[^>]+>", "", answer.content.decode())
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
        assert TOO_LARGE in answer.content.decode(), part
    told = "The data has 25.0 MB; at most 1 MB is read here. Import many rows as a dataset"
    for address in ("run_new", "run_estimate"):
        answer = client.post(reverse(address), {"dataset_source": "paste", "rows": large})
        assert answer.status_code == 413, address
        assert told in answer.content.decode(), address
    loud = [one for one in caplog.records if one.exc_info or one.levelno > logging.WARNING]
    assert loud == []
    assert not Dataset.objects.exists()


def test_too_large_a_form_does_nothing_says_so_without_its_token_and_needs_a_role(alice):
    """The token is in the part that is not read."""
    run = make_run(alice, make_dataset(alice), state="running", ended=None)
    data = {"name": "capitals", "text": "x" * (21 * 1024 * 1024)}
    answer = browser_of(alice).post(reverse("run_cancel", args=[run.pk]), data)
    assert answer.status_code == 413
    assert "at most 20 MB" in answer.content.decode()
    run.refresh_from_db()
    assert run.state == "running"
    viewer = make_person("vic", role=Role.VIEWER)
    assert browser_of(viewer).post(reverse("dataset_import"), data).status_code == 403
    assert "sign-in" in Client().post(reverse("dataset_import"), data)["Location"]


def test_the_list_counts_versions_and_paging_through_the_rows_shows_each_once(alice):
    make_run(alice, make_dataset(alice, rows=2))
    dataset = make_dataset(alice, rows=120)
    client, address, seen = client_of(alice), dataset.get_absolute_url(), []
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
