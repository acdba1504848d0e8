"""Datasets, endpoints, configurations, the cache and benchmarks through the API."""

import json

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import MULTIPART_CONTENT

from runs import secrets
from runs.models import CachedReply, Configuration, Dataset, Endpoint
from runs.roles import Role
from runs.services.configurations import save_configuration
from tests.api.asking import Asker
from tests.harness.factories import add_cached_reply, make_dataset, make_person, run_document
from tests.runs.benchmark_parts import make_benchmark
from workers.engine.kinds import read_configuration

pytestmark = pytest.mark.django_db

ROWS = [{"question": "What is 2 + 3?", "expected": "5"}]
KEY = "sk-canary-0123456789abcdef"


def test_a_dataset_is_made_of_rows(asker):
    answer = asker.post("/datasets", {"name": "sums", "rows": ROWS})
    assert answer.status_code == 201
    made = answer.json()
    assert (made["name"], made["version"], made["rows"]) == ("sums", 1, 1)
    assert answer["Location"] == "/api/v1/datasets/sums%401"
    assert asker.post("/datasets", {"name": "sums", "rows": ROWS}).json()["version"] == 1
    more = asker.post("/datasets", {"name": "sums", "rows": ROWS * 2}).json()
    assert (more["version"], more["rows"]) == (2, 2)


@pytest.mark.parametrize(
    "content",
    ["question,expected\nWhat is 2 + 3?,5\n", json.dumps(ROWS[0]) + "\n", json.dumps(ROWS)],
    ids=["CSV", "JSONL", "JSON"],
)
def test_a_dataset_is_uploaded(asker, content):
    file = SimpleUploadedFile("rows.txt", content.encode())
    answer = asker.client.post(
        "/api/v1/datasets",
        {"name": "sums", "file": file},
        headers={"Authorization": f"Bearer {asker.text}"},
        content_type=MULTIPART_CONTENT,
    )
    assert answer.status_code == 201
    assert Dataset.objects.get().cases.get().fields == ROWS[0]


def test_lists_and_objects_in_rows_are_kept_as_json_text(asker):
    rows = [{"question": "Which?", "choices": ["A", "B"], "meta": {"level": 2}}]
    assert asker.post("/datasets", {"name": "choices", "rows": rows}).status_code == 201
    (row,) = asker.get("/datasets/choices").json()["data"]
    assert row["fields"] == {
        "question": "Which?",
        "choices": '["A","B"]',
        "meta": '{"level":2}',
    }


@pytest.mark.parametrize("kind", ["application/json", MULTIPART_CONTENT], ids=["JSON", "form"])
def test_too_large_a_body_is_a_problem_without_a_traceback(asker, caplog, kind):
    text = "x" * (21 * 1024 * 1024)
    body = {"name": "sums", "rows": text} if kind == MULTIPART_CONTENT else f'{{"name": "{text}"}}'
    answer = asker.client.post(
        "/api/v1/datasets",
        body,
        headers={"Authorization": f"Bearer {asker.text}"},
        content_type=kind,
    )
    assert answer.status_code == 413
    assert "at most 20 MB" in answer.json()["detail"]
    assert not [entry for entry in caplog.records if entry.exc_info]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": "sums", "rows": []}, "rows"),
        ({"name": "", "rows": ROWS}, "name"),
        ({"name": "sums", "rows": [{"a": "1"}, {"b": "2"}]}, "rows.2"),
        ({"name": "sums", "rows": ROWS, "owner": 1}, "owner"),
        ({"rows": ROWS}, "name"),
    ],
)
def test_rows_that_are_wrong_are_refused_at_their_place(asker, body, path):
    answer = asker.post("/datasets", body)
    assert answer.status_code == 422
    assert path in [problem["path"] for problem in answer.json()["problems"]]
    assert not Dataset.objects.exists()


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
    given = {
        "name": "provider",
        "kind": "openai",
        "base_url": "https://provider.example/v1",
        "api_key": KEY,
        "models": ["m"],
        "prices": {"m": {"input": 1, "output": 2}},
    }
    return staff.post("/endpoints", {**given, **changes})


def test_an_endpoint_is_added_and_its_key_is_never_answered(staff):
    answer = add(staff, requests_per_minute=60)
    assert answer.status_code == 201
    stored = Endpoint.objects.get(name="provider")
    assert secrets.decrypt(stored.key_ciphertext) == KEY
    made = answer.json()
    assert (made["has_key"], made["requests_per_minute"]) == (True, 60)
    answers = [answer, staff.get("/endpoints"), staff.get("/endpoints/provider")]
    answers.append(staff.patch("/endpoints/provider", {"max_concurrent": 3}))
    for each in answers:
        assert "canary" not in each.content.decode()
        assert "cdef" not in each.content.decode()
        assert stored.key_ciphertext not in each.content.decode()


def test_only_what_is_given_is_changed(staff):
    add(staff)
    answer = staff.patch("/endpoints/provider", {"max_concurrent": 3})
    changed = answer.json()
    assert (changed["max_concurrent"], changed["models"], changed["has_key"]) == (3, ["m"], True)
    assert staff.patch("/endpoints/provider", {"api_key": ""}).json()["has_key"] is False


def test_an_endpoint_may_have_several_servers(staff):
    urls = ["https://a.example/v1", "https://b.example/v1"]
    answer = staff.post("/endpoints", {"name": "farm", "kind": "openai", "base_urls": urls})
    assert answer.json()["base_urls"] == urls


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"name": "Two Words"}, "name"),
        ({"kind": "magic"}, "kind"),
        ({"base_url": "http://127.0.0.1:1/v1"}, "base_url"),
        ({"base_url": "https://provider.example/v1?key=x"}, "base_url"),
        ({"api_key": "two words"}, "api_key"),
        ({"max_concurrent": 0}, "max_concurrent"),
        ({"key_ciphertext": "x"}, "key_ciphertext"),
        ({"is_paused": True}, "is_paused"),
        ({"prices": {"m": {"input": -1, "output": 1}}}, "prices.m.input"),
    ],
)
def test_an_endpoint_that_is_wrong_is_refused_at_its_place(staff, changes, path):
    answer = add(staff, **changes)
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["problems"]] == [path]
    assert not Endpoint.objects.exists()


def test_a_private_address_is_refused_until_an_admin_names_it(staff):
    place = {"base_url": "http://127.0.0.1:8080"}
    (problem,) = add(staff, **place).json()["problems"]
    assert "under Private addresses (private_addresses)." in problem["message"]
    made = add(staff, **place, private_addresses=["127.0.0.1:8080", "10.0.0.1:80"])
    assert made.json()["private_addresses"] == ["127.0.0.1:8080"]  # of its own addresses only
    changed = staff.patch("/endpoints/provider", {"max_concurrent": 3})
    assert changed.json()["private_addresses"] == ["127.0.0.1:8080"]
    revoked = staff.patch("/endpoints/provider", {"private_addresses": []})
    assert revoked.json()["private_addresses"] == []


def test_allow_private_names_all_servers_of_an_endpoint(staff):
    servers = {"base_urls": ["http://127.0.0.1:8080", "http://10.0.0.1:9000/v1"]}
    private = {"kind": "openai", "name": "provider", **servers}
    made = staff.post("/endpoints", {**private, "allow_private": True})
    assert made.json()["private_addresses"] == ["127.0.0.1:8080", "10.0.0.1:9000"]
    revoked = staff.patch("/endpoints/provider", {"allow_private": False})
    assert revoked.json()["private_addresses"] == []
    both = {"allow_private": True, "private_addresses": ["127.0.0.1:8080"]}
    assert "one of the two" in staff.patch("/endpoints/provider", both).json()["detail"]
    operator = Asker(make_person("olga", role=Role.OPERATOR))
    assert operator.patch("/endpoints/provider", {"allow_private": True}).status_code == 422


def test_an_operator_cannot_open_a_private_address(staff):
    operator = Asker(make_person("olga", role=Role.OPERATOR))
    private = {"base_url": "http://127.0.0.1:8080", "private_addresses": ["127.0.0.1:8080"]}
    (problem,) = add(operator, **private).json()["problems"]
    assert problem["path"] == "private_addresses"
    assert "You may not let endpoints call private addresses." in problem["message"]
    assert not Endpoint.objects.exists()
    add(staff, **private)
    assert operator.patch("/endpoints/provider", {"max_concurrent": 3}).status_code == 200
    moved = {"base_url": "http://127.0.0.1:9090", "private_addresses": ["127.0.0.1:9090"]}
    assert operator.patch("/endpoints/provider", moved).status_code == 422


def test_a_stored_key_is_not_sent_to_another_host(staff):
    add(staff)
    answer = staff.patch("/endpoints/provider", {"base_url": "https://evil.example/v1"})
    assert answer.status_code == 422
    assert "enter the key again" in answer.json()["problems"][0]["message"]


def test_only_staff_change_endpoints(asker, staff):
    add(staff)
    assert asker.get("/endpoints/provider").status_code == 200
    for method, path in [
        ("post", "/endpoints"),
        ("patch", "/endpoints/provider"),
        ("post", "/endpoints/provider/pause"),
        ("post", "/endpoints/provider/resume"),
    ]:
        body = {"name": "x", "kind": "simulated"} if path == "/endpoints" else {}
        assert asker.ask(method, path, body).status_code == 403
    assert Endpoint.objects.count() == 1


def test_an_endpoint_is_paused_and_resumed(staff):
    add(staff)
    said = [
        staff.post(f"/endpoints/provider/{what}").json()["changed"]
        for what in ("pause", "pause", "resume", "resume")
    ]
    assert said == [True, False, True, False]
    assert staff.post("/endpoints/nobody/pause").status_code == 404


def test_what_is_used_is_archived_over_the_api_and_the_rest_deleted(staff, dataset, run):
    problem = staff.ask("delete", "/datasets/sums").json()
    assert problem["status"] == 409
    assert problem["detail"] == "sums is used by 1 run (1 not ended yet). Archive it instead."
    said = [
        staff.patch("/datasets/sums", {"archived": wish}).json()["changed"]
        for wish in (True, True, False)
    ]
    assert said == [True, False, True]
    staff.patch("/datasets/sums", {"archived": True})
    assert staff.get("/datasets").json()["data"] == []
    (listed,) = staff.get("/datasets", archived="true").json()["data"]
    assert listed["archived"] is not None
    assert staff.get("/datasets/sums").status_code == 200
    staff.post("/datasets", {"name": "other", "rows": ROWS})
    assert staff.ask("delete", "/datasets/other@2").status_code == 404
    assert staff.ask("delete", "/datasets/other@1").json()["changed"] is True
    assert [row.name for row in Dataset.objects.all()] == ["sums"]


def test_an_endpoint_is_archived_and_deleted_over_the_api(staff, dataset):
    add(staff)
    assert staff.patch("/endpoints/simulated", {"archived": True}).json()["archived"]
    assert [row["name"] for row in staff.get("/endpoints").json()["data"]] == ["provider"]
    listed = staff.get("/endpoints", archived="true").json()["data"]
    assert [row["name"] for row in listed] == ["simulated"]
    refused = staff.post("/runs", {"configuration": run_document(dataset)})
    assert refused.status_code == 422
    assert "simulated is archived" in refused.json()["detail"]
    assert staff.patch("/endpoints/simulated", {"archived": False}).json()["archived"] is None
    assert staff.post("/runs", {"configuration": run_document(dataset)}).status_code == 202
    assert staff.ask("delete", "/endpoints/simulated").status_code == 409
    assert staff.ask("delete", "/endpoints/provider").json()["changed"] is True
    assert staff.get("/endpoints/provider").json()["remove_after"]
    assert staff.ask("delete", "/endpoints/provider?now=true").json()["changed"] is True
    assert [row.name for row in Endpoint.objects.all()] == ["simulated"]


@pytest.fixture
def document(dataset):
    document = run_document(dataset, scorers=[{"numeric": {"tolerance": 0.001}}], seed=7)
    return {**document, "name": "sums", "budget": {"calls": 20000}}


def test_a_configuration_is_stored_and_answered_unchanged(asker, document):
    answer = asker.post("/configurations", document)
    assert answer.status_code == 201
    assert answer["Location"] == "/api/v1/configurations/sums"
    assert answer.json() == document
    assert asker.get("/configurations/sums").json() == document
    assert asker.post("/configurations", document).status_code == 409
    (row,) = asker.get("/configurations").json()["data"]
    assert (row["name"], row["version"], row["kind"]) == ("sums", 1, "evaluate")


def yaml_of(asker, path):
    answer = asker.ask("get", path, headers={"Accept": "application/yaml"})
    assert answer["Content-Type"] == "application/yaml"
    return answer.content.decode()


def test_yaml_goes_in_and_out_exactly(asker, document):
    text = yaml.safe_dump(document, sort_keys=False)
    answer = asker.post("/configurations", text, content_type="application/yaml")
    assert answer.status_code == 201
    out = yaml_of(asker, "/configurations/sums")
    assert yaml.safe_load(out) == document
    again = asker.ask("put", "/configurations/sums", out, content_type="application/yaml")
    assert again.status_code == 200
    assert Configuration.objects.get().version == 1  # the same document: no new version
    assert yaml_of(asker, "/configurations/sums") == out


def test_a_configuration_is_replaced(asker, document):
    asker.post("/configurations", document)
    changed = {**document, "seed": 8}
    answer = asker.ask("put", "/configurations/sums", changed)
    assert (answer.status_code, answer.json()["seed"]) == (200, 8)
    assert Configuration.objects.get().version == 2
    assert asker.ask("put", "/configurations/other", changed).status_code == 422
    del changed["name"]
    assert asker.ask("put", "/configurations/other", changed).status_code == 201


def test_off_without_quotes_is_taken_in_yaml(asker, document):
    text = yaml.safe_dump({name: v for name, v in document.items() if name != "cache"})
    send = {"content_type": "application/yaml"}
    assert asker.post("/configurations", f"{text}cache: off\n", **send).status_code == 201
    assert read_configuration(Configuration.objects.get().as_document).cache == "off"
    refused = asker.ask("put", "/configurations/sums", f"{text}cache: on\n", **send)
    assert refused.status_code == 422
    assert "Choose use, refresh or off" in refused.content.decode()


@pytest.mark.parametrize(
    ("text", "content_type", "status"),
    [
        ("name: [", "application/yaml", 422),
        ("a: &a [1]\nb: *a", "application/yaml", 422),
        ("- 1", "application/yaml", 422),
        ("name: x\nkind: evaluate", "application/yaml", 422),
        ("{", "application/json", 400),
        ("name: x", "text/plain", 415),
    ],
)
def test_a_configuration_that_is_wrong_is_refused(asker, text, content_type, status):
    answer = asker.post("/configurations", text, content_type=content_type)
    assert answer.status_code == status
    assert not Configuration.objects.exists()


def test_the_configuration_of_somebody_else_is_neither_seen_nor_replaced(
    asker, stranger, staff, document
):
    asker.post("/configurations", document)
    assert stranger.get("/configurations/sums").status_code == 404
    assert stranger.ask("put", "/configurations/sums", document).status_code == 404
    assert stranger.post("/configurations", document).status_code == 409
    assert staff.get("/configurations/sums").status_code == 200


def test_a_preset_is_seen_by_all_and_changed_by_its_owner(asker, stranger, alice, document):
    save_configuration(alice, "sums", document, "For all.", is_preset=True)
    assert stranger.get("/configurations/sums").status_code == 200
    assert stranger.ask("put", "/configurations/sums", document).status_code == 403
    assert asker.ask("put", "/configurations/sums", {**document, "seed": 8}).status_code == 200
    stored = Configuration.objects.get()
    assert (stored.is_preset, stored.description, stored.owner) == (True, "For all.", alice)


def test_the_cache_is_looked_at_and_pruned(asker, staff, stranger, run):
    for number in range(30):
        add_cached_reply(run, f"{number:064x}")
    assert asker.get("/cache").json()["entries"] == 30
    first = asker.get("/cache/entries").json()
    assert (len(first["data"]), first["data"][0]["run"]) == (25, run.pk)
    rest = asker.get("/cache/entries", cursor=first["next_cursor"]).json()
    assert (len(rest["data"]), rest["next_cursor"]) == (5, None)
    assert stranger.get("/cache/entries").json()["data"] == []
    assert asker.post("/cache/prune", {"run": run.pk}).status_code == 403
    counted = staff.post("/cache/prune", {"run": run.pk, "dry_run": True}).json()
    assert (counted["applied"], counted["left"]) == (False, 30)
    assert staff.post("/cache/prune", {}).status_code == 422
    pruned = staff.post("/cache/prune", {"model": "simulated/sim-small"}).json()
    assert (pruned["removed"], pruned["left"]) == (30, 0)
    assert not CachedReply.objects.exists()


def test_pruned_answers_are_brought_back_unless_they_went_for_good(asker, staff, run):
    add_cached_reply(run, "a" * 64)
    until = staff.post("/cache/prune", {"run": run.pk}).json()["remove_after"]
    assert staff.get("/cache/removals").json()["data"] == [{"remove_after": until, "answers": 1}]
    for refused in (asker.get("/cache/removals"), asker.post("/cache/restore", {})):
        assert refused.status_code == 403
    back = staff.post("/cache/restore", {"remove_after": until}).json()
    assert back == {"changed": True, "restored": 1}
    assert CachedReply.objects.get().run == run
    assert staff.post("/cache/restore", {"remove_after": until}).json()["restored"] == 0
    gone = staff.post("/cache/prune", {"run": run.pk, "for_good": True}).json()
    assert (gone["removed"], gone["remove_after"]) == (1, None)
    assert staff.get("/cache/removals").json()["data"] == []


def test_benchmarks_are_listed_and_shown(asker):
    benchmark = make_benchmark()
    (row,) = asker.get("/benchmarks").json()["data"]
    assert row["id"] == benchmark.pk
    assert asker.get(f"/benchmarks/{benchmark.pk}").json()["results"] == benchmark.results
    assert asker.get("/benchmarks/999").status_code == 404
