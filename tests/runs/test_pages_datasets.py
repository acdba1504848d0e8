"""Datasets: importing all or nothing, and paging through the rows."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from runs.models import Dataset
from tests.runs.page_parts import client_of, make_dataset, make_person, make_run

pytestmark = pytest.mark.django_db

GOOD = "question,expected\nCapital of France?,Paris\nCapital of Japan?,Tokyo\n"


@pytest.fixture
def alice():
    return make_person("alice")


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
        pytest.param({"text": '{"q": "x"}\n{"q": [1]}'}, ["line 2"], id="nested value"),
        pytest.param({"file": b"question\n\xff"}, ["UTF-8"], id="not UTF-8"),
        pytest.param({"file": b"q\na\x00b"}, ["line 2"], id="NUL"),
        pytest.param({"text": "  \n"}, ["no rows"], id="nothing"),
        pytest.param({"file": b""}, ["empty"], id="empty file"),
        pytest.param({"text": GOOD, "name": "x@2"}, ["names a version"], id="name"),
        pytest.param({"text": GOOD, "name": ""}, ["required"], id="no name"),
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
