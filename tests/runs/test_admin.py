"""In the admin an operator sets things up, sees everything, and never sees a key."""

import json
import logging
from typing import Any

import pytest
import yaml
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs import secrets
from runs.models import (
    CachedReply,
    Candidate,
    Chunk,
    Configuration,
    Dataset,
    Endpoint,
    Run,
    RunEvent,
    RunSample,
    RunState,
    Score,
)
from runs.selectors.endpoints.manner import headers_of
from tests.harness.factories import add_cached_reply, make_dataset, make_run
from tests.runs.comparing_parts import make_scored
from tests.runs.test_pages_endpoints import fields as endpoint_fields

CANARY = "sk-canary-0123456789abcdef"
DOCUMENT = {
    "kind": "evaluate",
    "dataset": "sums",
    "prompts": [{"name": "plain", "user": "{{question}}"}],
    "models": ["simulated/sim-small"],
    "scorers": [{"numeric": {"tolerance": 0.001}}],
}

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_folder")]


@pytest.fixture
def page(client, ada):
    ada.is_superuser = True
    ada.save()
    client.force_login(ada)
    return client


def address(model, name="changelist", *args):
    return reverse(f"admin:runs_{model._meta.model_name}_{name}", args=args)


def configuration_form(document=DOCUMENT, **fields):
    text = document if isinstance(document, str) else yaml.safe_dump(document)
    return {"name": "sums", "description": "", "document": text, **fields}


def every_page(page):
    """Every list, add, view, history and delete page of the admin, with what it answered."""
    addresses = [reverse("admin:index"), reverse("admin:app_list", args=["runs"])]
    for model in admin.site._registry:
        prefix = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        addresses += [reverse(f"{prefix}_changelist"), reverse(f"{prefix}_add")]
        for pk in model._default_manager.values_list("pk", flat=True)[:3]:
            addresses += [
                reverse(f"{prefix}_{name}", args=[pk]) for name in ("change", "history", "delete")
            ]
    return [(address, page.get(address)) for address in addresses]


def test_the_admin_knows_no_table_of_accounts_and_leads_to_the_pages_for_them(client, page):
    tables = {model._meta.label for model in admin.site._registry}
    assert not {name for name in tables if not name.startswith("runs.")}
    assert page.get(f"{reverse('admin:index')}auth/user/").status_code == 404
    assert not tables & {"runs.ApiToken", "runs.SignInFailure"}
    for send in (page.get, page.post):
        assert send(reverse("admin:password_change"))["Location"] == reverse("password")
    client.logout()
    answer = client.post(reverse("admin:login"), {"username": "ada", "password": "x"})
    assert answer["Location"].startswith(reverse("sign_in"))  # which counts failures


def test_a_key_is_kept_or_removed_as_are_headers_and_options(page):
    told = {"kind": "azure", "base_url": "https://ours.openai.azure.com"}
    told |= {"new_headers": f"X-Team: {CANARY}", "option_azure_api_version": "2025-01-01-preview"}
    page.post(address(Endpoint, "add"), endpoint_fields(**told, new_key=CANARY))
    stored = Endpoint.objects.get()
    assert stored.options == {"api_version": "2025-01-01-preview"}
    change = address(Endpoint, "change", stored.pk)
    shown = page.get(change).text
    assert [part in shown for part in ("…cdef", "by ada", "Set: X-Team")] == [True] * 3
    for changes, key in (({"max_concurrent": "7"}, CANARY), ({"remove_key": "on"}, None)):
        sent = endpoint_fields(**{**told, "new_headers": "", **changes})
        assert page.post(change, sent).status_code == 302
        stored = Endpoint.objects.get()
        assert (secrets.decrypt(stored.key_ciphertext) if stored.has_key else None) == key
        assert headers_of(stored) == {"X-Team": CANARY}
        assert stored.model_names == ["model-a", "model-b"]


WRONG_ENDPOINTS = [
    ({"base_url": "http://10.0.0.1/v1"}, "base_url", "under Private addresses"),
    ({"new_key": CANARY, "remove_key": "on"}, "remove_key", "not both"),
    ({"new_proxy": "proxy.example"}, "new_proxy", "Write it as"),
]


def test_a_wrong_endpoint_is_refused_at_its_field_others_are_tested_and_deleted_in_the_list(page):
    for fields, field, message in WRONG_ENDPOINTS:
        answer = page.post(address(Endpoint, "add"), endpoint_fields(**fields))
        assert answer.status_code == 200, fields
        assert message in str(answer.context["adminform"].form.errors[field])
    assert not Endpoint.objects.exists()
    one, two = (
        Endpoint.objects.create(name=name, kind="openai", base_url="http://127.0.0.1:9999/v1")
        for name in ("lost", "two")
    )
    chosen = {"action": "test_connections", "_selected_action": [one.pk]}
    shown = page.post(address(Endpoint), chosen, follow=True).text
    assert "Lost: 127.0.0.1:9999 is at a private address (loopback)" in shown
    page.post(address(Endpoint, "delete", one.pk), {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [two.pk], "post": "yes"}
    page.post(address(Endpoint), chosen)
    assert not Endpoint.objects.exists()


def dump_of_the_database():
    """Every row of every table, as text."""
    lines = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            lines += [f"{table}: {row!r}" for row in cursor.fetchall()]
    return "\n".join(lines)


def test_a_key_is_on_no_page_in_no_log_and_not_in_the_database(page, caplog):
    """And every page of the admin opens."""
    caplog.set_level(logging.DEBUG)
    page.post(address(Configuration, "add"), configuration_form())
    answers = [page.post(address(Endpoint, "add"), endpoint_fields(new_key=CANARY), follow=True)]
    stored = Endpoint.objects.get()
    change = address(Endpoint, "change", stored.pk)
    opened = dict(every_page(page))
    assert {answer.status_code for answer in opened.values()} == {200, 403}
    refused = {address for address, answer in opened.items() if answer.status_code == 403}
    assert all(address.endswith(("/add/", "/delete/")) for address in refused)
    assert "evalsite" in opened[reverse("admin:index")].text
    answers += [
        page.post(change, endpoint_fields(new_key=CANARY, name="Bad Name")),
        page.post(change, endpoint_fields(new_key=CANARY, max_concurrent="7"), follow=True),
        *opened.values(),
        page.get(change),
        page.get(address(Endpoint, "history", stored.pk)),
    ]
    assert Endpoint.objects.get().max_concurrent == 7
    assert not [answer for answer in answers if CANARY in answer.text]
    assert not [answer for answer in answers if stored.key_ciphertext in answer.text]
    assert CANARY not in caplog.text
    assert CANARY not in dump_of_the_database()
    assert "provider.example" in dump_of_the_database()  # the dump does see what is stored


WRONG_DOCUMENTS = [
    ("kind: [", ["in line 1"]),
    ({**DOCUMENT, "scorers": [{"numeric": {"tol": 1}}]}, ["scorers", "It takes: tolerance"]),
    ({**DOCUMENT, "repeats": 0, "models": []}, ["repeats: ", "models: "]),
]


def test_a_configuration_is_written_as_yaml_or_json_with_every_problem_at_its_field(page, ada):
    for document, problems in WRONG_DOCUMENTS:
        sent = configuration_form(document)
        answer = page.post(address(Configuration, "add"), sent)
        assert answer.status_code == 200, document
        form = answer.context["adminform"].form
        errors = " ".join(form.errors["document"])
        assert all(problem in errors for problem in problems), errors
        assert form["document"].value() == sent["document"]  # not lost
    assert not Configuration.objects.exists()
    form = configuration_form(description="Adds", is_preset="on")
    assert page.post(address(Configuration, "add"), form).status_code == 302
    stored = Configuration.objects.get()
    assert stored.document == DOCUMENT
    assert (stored.kind, stored.version, stored.is_preset) == ("evaluate", 1, True)
    assert stored.owner == ada
    change = address(Configuration, "change", stored.pk)
    assert "kind: evaluate" in page.get(change).text
    assert "already exists" in page.post(address(Configuration, "add"), configuration_form()).text
    for sent, version in (
        (configuration_form(description="Now described"), 1),
        (configuration_form(json.dumps(DOCUMENT), name="other"), 1),
        (configuration_form(json.dumps({**DOCUMENT, "repeats": 3})), 2),
    ):
        page.post(change, sent)
        stored = Configuration.objects.get()
        assert (stored.name, stored.version) == ("sums", version)
    assert stored.document["repeats"] == 3
    for action, expected in (("offer_as_preset", True), ("withdraw_preset", False)):
        page.post(address(Configuration), {"action": action, "_selected_action": [stored.pk]})
        assert Configuration.objects.get().is_preset is expected


READ_ONLY: list[type[Any]] = [
    *(CachedReply, Candidate, Chunk, Dataset),
    *(Run, RunEvent, RunSample, Score),
]


QUEUED: dict[str, Any] = {"state": RunState.QUEUED, "started": None, "ended": None}


@pytest.fixture
def run(ada):
    """With a row in every table that workers write to, and three scores."""
    run = make_scored(ada, make_dataset(ada), [None, 1.0, 1.0], name="first", **QUEUED)
    Chunk.objects.create(run=run, start=0, trials=[])
    RunEvent.objects.create(run=run, message="Started.")
    RunSample.objects.create(run=run, second=0)
    add_cached_reply(None, "c" * 64)
    return run


def test_what_workers_wrote_can_be_looked_at_and_not_changed(page, run):
    answers = {}
    for model in READ_ONLY:
        stored = model.objects.first()
        before = model.objects.values().get(pk=stored.pk)
        answers[model.__name__] = [
            page.get(address(model)).status_code,
            page.get(address(model, "change", stored.pk)).status_code,
            page.get(address(model, "history", stored.pk)).status_code,
            page.get(address(model, "add")).status_code,
            page.post(address(model, "change", stored.pk), {"name": "x"}).status_code,
            page.post(address(model, "delete", stored.pk), {"post": "yes"}).status_code,
        ]
        page.post(address(model), {"action": "delete_selected", "_selected_action": [stored.pk]})
        assert model.objects.values().get(pk=stored.pk) == before
    wanted = [200, 200, 200, 403, 403, 403]
    assert {name: found for name, found in answers.items() if found != wanted} == {}


FILTERED = [
    (Score, {"outcome": "ok"}, 2),
    (Score, {"outcome": "failed"}, 1),
    (Score, {"outcome": "timeout"}, 1),
    (Score, {"outcome": "refused"}, 0),
    (Score, {"q": "first"}, 3),
    (Run, {"q": "first"}, 1),
    (Run, {"q": "ada"}, 2),
    (Run, {"state__exact": "queued"}, 2),
    (Chunk, {"state__exact": "done"}, 0),
    (CachedReply, {"q": "c" * 64}, 1),
]


@pytest.mark.postgresql("SQL: the count of a huge table is cut by a statement of our own")
def test_lists_are_filtered_searched_not_counted_to_the_end_and_a_run_leads_to_parts(page, run):
    other = make_run(run.owner, run.dataset, name="second", **QUEUED)
    scores = f"{address(Score)}?run__id__exact="
    assert f"{scores}{run.pk}" in page.get(address(Run, "change", run.pk)).text
    of_runs = [(Score, {"run__id__exact": run.pk}, 3), (Score, {"run__id__exact": other.pk}, 0)]
    wrong = {}
    for model, query, count in [*FILTERED, *of_runs]:
        found = page.get(address(model), query).context["cl"].result_count
        if found != count:
            wrong[model, str(query)] = found
    assert wrong == {}
    with CaptureQueriesContext(connection) as queries:
        page.get(address(Score))
    counts = [
        query["sql"] for query in queries if "COUNT(*)" in query["sql"] and "score" in query["sql"]
    ]
    assert counts
    assert all("LIMIT 10000" in sql for sql in counts)


def queries_of(page, model):
    with CaptureQueriesContext(connection) as asked:
        page.get(address(model))
    return len(asked)


def test_a_longer_list_takes_no_more_queries(page, run, ada):
    Endpoint.objects.create(name="a", kind="simulated", key_set_by=ada)
    lists = [*READ_ONLY, Endpoint]
    few = {model: queries_of(page, model) for model in lists}
    for place in range(1, 6):
        Candidate.objects.create(run=run, position=place, key=f"k{place}", name="n", document={})
        Chunk.objects.create(run=run, start=place * 10, trials=[])
        RunEvent.objects.create(run=run, message="m")
        RunSample.objects.create(run=run, second=place)
        Endpoint.objects.create(name=f"b{place}", kind="simulated", key_set_by=ada)
        Dataset.objects.create(name=f"d{place}", columns=[], rows=0, digest="d", owner=ada)
        make_run(ada, run.dataset, **QUEUED)
    many = {model: queries_of(page, model) for model in lists}
    assert {model: many[model] for model in lists if many[model] > few[model]} == {}
