"""Datasets, endpoints and configurations through the API."""

import json
from itertools import product
from typing import Any

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import MULTIPART_CONTENT

from runs import secrets
from runs.models import Configuration, Dataset, Endpoint
from runs.roles import Role
from runs.services.configurations import save_configuration
from tests.api.asking import Asker
from tests.harness.factories import make_dataset, make_person, run_document

pytestmark = pytest.mark.django_db

ROWS = [{"question": "What is 2 + 3?", "expected": "5"}]
KEY = "sk-canary-0123456789abcdef"
YAML = "application/yaml"


def test_a_dataset_is_made_of_rows_or_of_an_uploaded_file(asker):
    answer = asker.post("/datasets", {"name": "sums", "rows": ROWS})
    assert answer.status_code == 201
    made = answer.json()
    assert (made["name"], made["version"], made["rows"]) == ("sums", 1, 1)
    assert answer["Location"] == "/api/v1/datasets/sums%401"
    assert asker.post("/datasets", {"name": "sums", "rows": ROWS}).json()["version"] == 1
    more = asker.post("/datasets", {"name": "sums", "rows": ROWS * 2}).json()
    assert (more["version"], more["rows"]) == (2, 2)
    asker.post("/datasets", {"name": "nested", "rows": [{"choices": ["A", {"level": 2}]}]})
    (row,) = asker.get("/datasets/nested").json()["data"]
    assert row["fields"] == {"choices": '["A",{"level":2}]'}  # as JSON text
    csv = "question,expected\nWhat is 2 + 3?,5\n"
    for name, text in {"a": csv, "b": json.dumps(ROWS[0]) + "\n", "c": json.dumps(ROWS)}.items():
        file = SimpleUploadedFile("rows.txt", text.encode())
        assert upload(asker, {"name": name, "file": file}).status_code == 201
        assert Dataset.objects.get(name=name).cases.get().fields == ROWS[0]


def upload(asker, body, kind=MULTIPART_CONTENT):
    headers = {"Authorization": f"Bearer {asker.text}"}
    return asker.client.post("/api/v1/datasets", body, headers=headers, content_type=kind)


def test_rows_that_are_wrong_or_too_large_are_refused_without_a_traceback(asker, caplog):
    for path, body in (
        ("rows", {"name": "sums", "rows": []}),
        ("name", {"name": "", "rows": ROWS}),
        ("name", {"rows": ROWS}),
        ("rows.2", {"name": "sums", "rows": [{"a": "1"}, {"b": "2"}]}),
        ("owner", {"name": "sums", "rows": ROWS, "owner": 1}),
    ):
        assert path in paths_of(asker.post("/datasets", body)), body
    assert not Dataset.objects.exists()
    text = "x" * (21 * 1024 * 1024)
    as_form = upload(asker, {"name": "sums", "rows": text})
    as_json = upload(asker, f'{{"name": "{text}"}}', "application/json")
    for answer in (as_form, as_json):
        assert answer.status_code == 413
        assert "at most 20 MB" in answer.json()["detail"]
    assert not [entry for entry in caplog.records if entry.exc_info]


def paths_of(answer):
    """Where the problems are, of what was refused for them."""
    assert answer.status_code == 422, answer.content
    return [problem["path"] for problem in answer.json()["problems"]]


def test_datasets_are_listed_and_read_page_by_page(asker, alice):
    make_dataset(alice, "a/b c", rows=3)
    make_dataset(alice, "z")
    listed = asker.get("/datasets").json()["data"]
    assert [row["name"] for row in listed] == ["a/b c", "z"]
    first = asker.get("/datasets/a/b%20c", limit=2).json()
    assert first["dataset"]["columns"] == ["question", "expected"]
    rest = asker.get("/datasets/a/b%20c", limit=2, cursor=first["next_cursor"]).json()
    assert [row["case"] for row in first["data"] + rest["data"]] == [0, 1, 2]
    assert asker.get("/datasets/z@1").json()["dataset"]["version"] == 1
    assert asker.get("/datasets/z@2").status_code == 404


def add(staff, **changes):
    given: dict[str, Any] = {"name": "provider", "kind": "openai", "api_key": KEY, "models": ["m"]}
    given |= {"base_url": "https://provider.example/v1", "prices": {"m": {"input": 1, "output": 2}}}
    return staff.post("/endpoints", {**given, **changes})


def test_an_endpoint_is_added_its_key_never_answered_and_only_what_is_given_changed(staff):
    answer = add(staff, requests_per_minute=60)
    assert answer.status_code == 201
    stored = Endpoint.objects.get(name="provider")
    assert secrets.decrypt(stored.key_ciphertext) == KEY
    made = answer.json()
    assert (made["has_key"], made["requests_per_minute"]) == (True, 60)
    answers = [answer, staff.get("/endpoints"), staff.get("/endpoints/provider")]
    answers.append(staff.patch("/endpoints/provider", {"max_concurrent": 3}))
    for secret in ("canary", "cdef", stored.key_ciphertext):
        assert [each.text for each in answers if secret in each.text] == []
    changed = staff.patch("/endpoints/provider", {"max_concurrent": 3}).json()
    assert (changed["max_concurrent"], changed["models"], changed["has_key"]) == (3, ["m"], True)
    elsewhere = staff.patch("/endpoints/provider", {"base_url": "https://evil.example/v1"})
    assert paths_of(elsewhere) == ["base_url"]
    assert "enter the key again" in elsewhere.json()["problems"][0]["message"]
    assert staff.patch("/endpoints/provider", {"api_key": ""}).json()["has_key"] is False
    urls = ["https://a.example/v1", "https://b.example/v1"]
    farm = staff.post("/endpoints", {"name": "farm", "kind": "openai", "base_urls": urls})
    assert farm.json()["base_urls"] == urls
    for what, changed in product(("pause", "resume"), (True, False)):
        assert staff.post(f"/endpoints/provider/{what}").json()["changed"] is changed
    assert staff.post("/endpoints/nobody/pause").status_code == 404


def test_an_admin_names_private_addresses_or_allows_all_servers_of_an_endpoint(staff):
    """By the rules of tests/runs/test_private_addresses.py."""
    operator = Asker(make_person("olga", role=Role.OPERATOR))
    place = {"base_url": "http://127.0.0.1:8080"}
    (problem,) = add(staff, **place).json()["problems"]
    assert "under Private addresses (private_addresses)." in problem["message"]
    (problem,) = add(operator, **place, private_addresses=["127.0.0.1:8080"]).json()["problems"]
    assert problem["path"] == "private_addresses"
    assert "You may not let endpoints call private addresses." in problem["message"]
    assert not Endpoint.objects.exists()
    made = add(staff, **place, private_addresses=["127.0.0.1:8080", "10.0.0.1:80"])
    changed = operator.patch("/endpoints/provider", {"max_concurrent": 3})
    for answer in (made, changed):
        assert answer.json()["private_addresses"] == ["127.0.0.1:8080"]  # of its own only
    revoked = staff.patch("/endpoints/provider", {"private_addresses": []})
    assert revoked.json()["private_addresses"] == []
    both = {"allow_private": True, "private_addresses": ["127.0.0.1:8080"]}
    assert "one of the two" in staff.patch("/endpoints/provider", both).json()["detail"]
    servers = {"base_urls": ["http://127.0.0.1:8080", "http://10.0.0.1:9000/v1"], "api_key": KEY}
    for allowed, named in ((True, ["127.0.0.1:8080", "10.0.0.1:9000"]), (False, [])):
        found = staff.patch("/endpoints/provider", {**servers, "allow_private": allowed})
        assert found.json()["private_addresses"] == named
    assert operator.patch("/endpoints/provider", {"allow_private": True}).status_code == 422


def test_an_endpoint_that_is_wrong_is_refused_at_its_place(staff):
    wrong: list[Any] = [
        ("name", {"name": "Two Words"}),
        ("kind", {"kind": "magic"}),
        ("base_url", {"base_url": "https://provider.example/v1?key=x"}),
        ("is_paused", {"is_paused": True}),
        ("api_key", {"api_key": "two words"}),
        ("prices.m.input", {"prices": {"m": {"input": -1, "output": 1}}}),
    ]
    assert [(*paths_of(add(staff, **changes)), changes) for _, changes in wrong] == wrong
    assert not Endpoint.objects.exists()


def test_what_is_used_is_archived_over_the_api_and_the_rest_deleted(staff, dataset, run):
    """What becomes of it then: tests/runs/test_trash.py."""
    problem = staff.ask("delete", "/datasets/sums").json()
    assert problem["status"] == 409
    assert problem["detail"] == "sums is used by 1 run (1 not ended yet). Archive it instead."
    assert staff.ask("delete", "/endpoints/simulated").status_code == 409
    answers = [staff.patch("/datasets/sums", {"archived": wish}) for wish in (True, True, False)]
    assert [answer.json()["changed"] for answer in answers] == [True, False, True]
    for many, name in (("/datasets", "sums"), ("/endpoints", "simulated")):
        staff.patch(f"{many}/{name}", {"archived": True})
        assert staff.get(many).json()["data"] == []
        (listed,) = staff.get(many, archived="true").json()["data"]
        assert (listed["name"], listed["archived"] is not None) == (name, True)
        assert staff.get(f"{many}/{name}").status_code == 200
    back = staff.patch("/endpoints/simulated", {"archived": False})
    assert back.json()["archived"] is None
    staff.post("/datasets", {"name": "other", "rows": ROWS})
    assert staff.ask("delete", "/datasets/other@2").status_code == 404
    assert staff.ask("delete", "/datasets/other@1").json()["changed"] is True
    assert [row.name for row in Dataset.objects.all()] == ["sums"]
    add(staff)
    assert staff.ask("delete", "/endpoints/provider").json()["changed"] is True
    assert staff.get("/endpoints/provider").json()["remove_after"]
    assert staff.ask("delete", "/endpoints/provider?now=true").json()["changed"] is True
    assert [row.name for row in Endpoint.objects.all()] == ["simulated"]


@pytest.fixture
def document(dataset):
    document = run_document(dataset, scorers=[{"numeric": {"tolerance": 0.001}}], seed=7)
    return {**document, "name": "sums", "budget": {"calls": 20000}}


def yaml_of(asker, path):
    answer = asker.ask("get", path, headers={"Accept": YAML})
    assert answer["Content-Type"] == YAML
    return answer.text


def test_a_configuration_is_stored_answered_unchanged_and_replaced(asker, document):
    answer = asker.post("/configurations", document)
    assert (answer.status_code, answer["Location"]) == (201, "/api/v1/configurations/sums")
    assert answer.json() == asker.get("/configurations/sums").json() == document
    assert asker.post("/configurations", document).status_code == 409
    (row,) = asker.get("/configurations").json()["data"]
    assert (row["name"], row["version"], row["kind"]) == ("sums", 1, "evaluate")
    out = yaml_of(asker, "/configurations/sums")
    assert yaml.safe_load(out) == document
    again = asker.ask("put", "/configurations/sums", out, content_type=YAML)
    assert again.status_code == 200
    assert Configuration.objects.get().version == 1  # the same document: no new version
    assert yaml_of(asker, "/configurations/sums") == out
    changed = {**document, "seed": 8}
    answer = asker.ask("put", "/configurations/sums", changed)
    assert (answer.status_code, answer.json()["seed"]) == (200, 8)
    assert Configuration.objects.get().version == 2
    assert asker.ask("put", "/configurations/other", changed).status_code == 422
    del changed["name"]
    assert asker.ask("put", "/configurations/other", changed).status_code == 201


def test_what_is_no_configuration_in_yaml_or_json_is_refused(asker):
    for status, content_type, wrong in [
        (422, YAML, "name: ["),
        (422, YAML, "a: &a [1]\nb: *a"),
        (422, YAML, "- " * 100_000),
        (422, YAML, "- 1"),
        (422, YAML, "name: x\nkind: evaluate"),
        (400, "application/json", "{"),
        (415, "text/plain", "name: x"),
    ]:
        answer = asker.post("/configurations", wrong, content_type=content_type)
        assert answer.status_code == status, wrong
    assert not Configuration.objects.exists()


def test_of_others_only_presets_are_seen_and_none_changed(asker, stranger, alice, document):
    asker.post("/configurations", document)
    assert stranger.get("/configurations/sums").status_code == 404
    assert stranger.post("/configurations", document).status_code == 409
    save_configuration(alice, "sums", document, "For all.", is_preset=True)
    assert stranger.get("/configurations/sums").status_code == 200
    assert stranger.ask("put", "/configurations/sums", document).status_code == 403
    assert asker.ask("put", "/configurations/sums", {**document, "seed": 8}).status_code == 200
    stored = Configuration.objects.get()
    assert (stored.is_preset, stored.description, stored.owner) == (True, "For all.", alice)
