"""Nobody sets a field by sending it: routes of the API refuse what they do not know, and pages take
what their form has and nothing else. Lists inside lists inside lists are refused with a sentence at
every door, and what an older version stored of them is shown all the same."""

import json
from functools import cache
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db import connection, models, transaction
from django.test import Client

from runs.api.api import api, openapi_document
from runs.api.examples import EXAMPLES
from runs.consumers import read_kind
from runs.models import AuditEntry, Candidate, Configuration, Run, ScoreRecord
from runs.roles import Role
from tests.harness.factories import add_record, client_of
from tests.roles.stage import make_actor, set_stage, token_of
from tests.roles.test_routes import Route, api_routes, every_route
from workers.engine.spec.documents import read_document

pytestmark = pytest.mark.django_db

# What is stored of things and people, and no field of any form or body.
FLAGS = ("is_shared", "is_hidden", "is_preset", "is_staff", "is_superuser")
EXTRA = dict.fromkeys(("owner", "owner_id", "user", "key_set_by", "planned"), "1")
EXTRA |= {**dict.fromkeys(FLAGS, "true"), "state": "completed", "visibility": "everybody"}
EXTRA |= {"version": "99", "cost": "0", "done": "7", "digest": "0", "spent_budgets": "{}"}
NEVER_THE_SAME = {"key", "nonce", "prefix", "digest", "password", "ran_seconds", "data"}
ROWS = "question,expected\n1 + 1?,2\n"
ENDPOINT = {"name": "mine", "kind": "simulated", "max_concurrent": "5"}
FORMS: dict[str, dict[str, Any]] = {
    "run_new": {"mode": "yaml", "yaml": ""},
    "run_retune": {"max_concurrent": "3", "priority": "high"},
    "run_share": {"share": "yes"},
    "dataset_import": {"name": "new", "text": ROWS, "step": "import"},
    "dataset_columns": {"role-0": "expected", "role-1": "input"},
    "dataset_split": {"parts": "train = 1, test = 1", "seed": "0"},
    "dataset_share": {"share": "yes"},
    "tokens": {"name": "ci", "scopes": ["read"], "days": "30"},
    "endpoint_new": {**ENDPOINT, "model_names": "a", "prices": ""},
    "profile": {"theme": "dark", "time_zone": "UTC"},
    "person_invite": {"role": "viewer", "days": "3"},
    "teams": {"name": "new"},
    "person_role": {"role": "viewer"},
    "person_active": {"active": "no"},
    "person_quota": {"slots": "5"},
    "role_quota": {"slots": "5"},
}
YAML = """name: mine
kind: evaluate
dataset: data own
prompts: [{name: a, user: "{{question}}"}]
models: [simulated/sim-small]
scorers: [exact]
"""
FORMS["run_new"]["yaml"] = YAML

SENTENCE = "nested too deeply"
DEPTHS = (65, 300, 900, 5000, 30_000)  # up to where every reader of JSON gives up by itself
IN_FIELDS = {65, 30_000}
STORED_DEPTH = 480  # the most that older versions could store


def stored():
    """Every column of every row, but moments and what is drawn at random."""
    found = {}
    with connection.cursor() as cursor:
        for label, query in selects().items():
            cursor.execute(query)
            found[label] = cursor.fetchall()
    return found


@cache
def selects():
    """As SQL: this is asked for hundreds of times, and nothing needs to be read into objects."""
    quote: Any = connection.ops.quote_name  # of columns, which all of these fields have
    return {
        model._meta.label: f"SELECT {', '.join(map(quote, columns_of(model)))}"
        f" FROM {quote(model._meta.db_table)} ORDER BY {quote(model._meta.pk.column)}"
        for model in apps.get_models(include_auto_created=True)
        if model not in {Session, AuditEntry}
    }


def columns_of(model: type[models.Model]) -> list[Any]:
    fields = [field for field in model._meta.concrete_fields if field.name not in NEVER_THE_SAME]
    return [field.column for field in fields if not isinstance(field, models.DateTimeField)]


def body_of(route: Route) -> Any:
    """That of the example on the docs page."""
    for router in api._get_bound_routers():
        view = router.path_operations.get(route.name)
        for operation in view.operations if view else ():
            if route.method in operation.methods:
                body = EXAMPLES[str(operation.operation_id)].body
                given = read_document(body) if isinstance(body, str) else body or {}
                # A name in the body must be that of the address.
                return {key: given[key] for key in given if route.method != "PUT" or key != "name"}
    raise LookupError(route)


def test_every_body_of_the_api_refuses_fields_that_it_does_not_have():
    """All of them at once: each is named."""
    admin = make_actor(Role.ADMIN)
    stage, token, client = set_stage(admin), token_of(admin), Client()
    before = stored()
    routes = [route for route in api_routes() if route.method in {"POST", "PATCH", "PUT"}]
    taken = {}
    for route in routes:
        answer = stage.send(client, route, "own", {**body_of(route), **EXTRA}, **token)
        unnamed = set(EXTRA) - set(paths_of(answer)) if answer.status_code == 422 else set(EXTRA)
        if unnamed:
            taken[str(route)] = (answer.status_code, unnamed)
    assert taken == {}
    assert len(routes) >= 17
    assert stored() == before


def paths_of(answer: Any) -> list[str]:
    return [problem["path"] for problem in answer.json()["problems"]]


def test_an_upload_and_a_configuration_in_a_body_refuse_them_too():
    runner = make_actor(Role.RUNNER)
    set_stage(runner)
    client, headers = Client(), token_of(runner)
    before = stored()
    upload = client.post("/api/v1/datasets", {"name": "new", "owner": "1"}, headers=headers)
    launched = {"configuration": {**read_document(YAML), "owner": 1}}
    launch = client.post("/api/v1/runs", launched, content_type="application/json", headers=headers)
    assert [answer.status_code for answer in (upload, launch)] == [422, 422]
    assert "owner" in paths_of(upload)
    assert "owner" in paths_of(launch)
    assert stored() == before


def test_forms_do_the_same_with_fields_that_they_do_not_have():
    person = make_actor(Role.ADMIN)  # to whom every form is open
    stage, browser = set_stage(person), client_of(person)

    def after(route, form):
        """What is stored then. It is taken back."""
        with transaction.atomic():
            stage.send(browser, route, "own", form)
            found = stored()
            transaction.set_rollback(True)
        return found

    start, changed, differs = stored(), set(), []
    for route in every_route():
        if route.is_api or route.method != "POST":
            continue
        plain = FORMS.get(route.name, {})
        without = after(route, plain)
        if after(route, {**plain, **EXTRA}) != without:
            differs.append(str(route))
        if without != start:
            changed.add(route.name)
    assert differs == []
    assert set(FORMS) <= changed, "a form that was refused shows nothing"


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def bodies_for(route: Route, levels: int) -> list[str]:
    """The depth alone; the first and the last, in each field of a body that would be accepted."""
    found = [deep(levels), '{"a":' * levels + "1" + "}" * levels]
    known = body_of(route)
    for name in [*known, "unknown"] if levels in IN_FIELDS else ():
        rest = {key: value for key, value in known.items() if key != name}
        found.append(json.dumps(rest)[:-1] + (", " if rest else "") + f'"{name}": {deep(levels)}}}')
    return found


def test_every_route_with_a_body_refuses_a_deep_one():
    admin = make_actor(Role.ADMIN)
    stage, token, paths = set_stage(admin), token_of(admin), openapi_document()["paths"]
    writing = [route for route in api_routes() if not route.is_safe]
    routes = [one for one in writing if "requestBody" in paths[one.path][one.method.lower()]]
    client = Client(raise_request_exception=False)
    taken = []
    for route in routes:
        for levels in DEPTHS:
            for body in bodies_for(route, levels):
                answer = stage.send(client, route, "own", body, **token)
                if answer.status_code not in {400, 422}:
                    taken.append(f"{route}, {levels}: {answer.status_code}")
    assert taken == []
    assert len(routes) >= 10
    told = stage.send(client, routes[0], "own", deep(65), **token)
    assert SENTENCE in told.content.decode()
    for levels in (100, 900, 2000):  # a message of a page is none of ours then
        assert read_kind('{"type": ' + deep(levels) + "}") == ""
    assert read_kind('{"type": "ack"}') == "ack"


def store_deep_values(levels: int) -> None:
    """As versions without a limit did."""
    value = json.loads(deep(levels))
    model = {"endpoint": "simulated", "model": "sim-small", "parameters": {"stop": value}}
    things: list[Any] = [*Run.objects.all(), *Configuration.objects.all(), *Candidate.objects.all()]
    for one in things:
        changed = {"model": model} if isinstance(one, Candidate) else {"models": [model]}
        one.document = {**one.document, **changed}
        one.save()
    for record in ScoreRecord.objects.select_related("score"):
        score = record.score
        record.delete()
        add_record(score, {"steps": value})


def test_stored_depths_do_not_break_their_pages():
    admin = make_actor(Role.ADMIN)
    stage, browser = set_stage(admin), client_of(admin)
    store_deep_values(STORED_DEPTH)
    browser.raise_request_exception = False
    pages = [route for route in every_route() if route.is_safe]
    routes = [route for route in pages if not route.path.endswith("/events/stream")]
    broken = [str(route) for route in routes if breaks(stage.ask(browser, route, "own"))]
    run, stored = Run.objects.all()[0], Configuration.objects.all()[0]
    for address in (
        *(f"/runs/new/?run={run.pk}", f"/runs/new/?configuration={stored.pk}"),
        f"/admin/runs/configuration/{stored.pk}/change/",
        f"/runs/{run.pk}/scores.jsonl?show=record",
    ):
        broken += [address] if breaks(browser.get(address)) else []
    assert broken == []


def breaks(answer: Any) -> bool:
    """A stream is read to its end, where it would raise."""
    if answer.streaming:
        b"".join(answer.streaming_content)
    return bool(answer.status_code >= 500)
