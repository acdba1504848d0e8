"""Nobody sets a field by sending it: routes of the API refuse what they do not know, and pages take
what their form has and nothing else."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.test import Client

from runs.api.api import api
from runs.api.examples import EXAMPLES
from runs.models import AuditEntry, Scope
from runs.roles import Role
from runs.services.people.tokens import create_token
from tests.harness.factories import make_person
from tests.roles.routes import Route, api_routes, page_routes
from tests.roles.stage import Stage, client_of, make_actor, same_browser, set_stage
from workers.engine.spec.documents import read_document

pytestmark = pytest.mark.django_db

# What is stored of things and people, and no field of any form or body.
EXTRA = {
    "owner": "1",
    "owner_id": "1",
    "user": "1",
    "state": "completed",
    "visibility": "everybody",
    "is_shared": "true",
    "is_hidden": "true",
    "is_preset": "true",
    "is_staff": "true",
    "is_superuser": "true",
    "version": "99",
    "cost": "0",
    "planned": "1",
    "done": "7",
    "digest": "0",
    "key_set_by": "1",
    "spent_budgets": "{}",
}
NEVER_THE_SAME = {"key", "nonce", "prefix", "digest", "password", "ran_seconds", "data"}
ROWS = "question,expected\n1 + 1?,2\n"
FORMS: dict[str, dict[str, Any]] = {
    "run_new": {"mode": "yaml", "yaml": ""},
    "run_retune": {"max_concurrent": "3", "priority": "high"},
    "run_share": {"share": "yes"},
    "dataset_import": {"name": "new", "text": ROWS, "step": "import"},
    "dataset_columns": {"role-0": "expected", "role-1": "input"},
    "dataset_split": {"parts": "train = 1, test = 1", "seed": "0"},
    "dataset_share": {"share": "yes"},
    "tokens": {"name": "ci", "scopes": ["read"], "days": "30"},
    "endpoint_new": {
        "name": "mine",
        "kind": "simulated",
        "max_concurrent": "5",
        "model_names": "a",
        "prices": "",
    },
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


@pytest.fixture(autouse=True)
def no_rate_limit(settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = 100_000


def stored() -> dict[str, Any]:
    """Every column of every row, but moments and what is drawn at random."""
    return {
        model._meta.label: list(model._default_manager.order_by("pk").values(*columns_of(model)))
        for model in apps.get_models(include_auto_created=True)
        if model not in {Session, AuditEntry}
    }


def columns_of(model: type[models.Model]) -> list[str]:
    return [
        field.attname
        for field in model._meta.concrete_fields
        if not isinstance(field, models.DateTimeField) and field.name not in NEVER_THE_SAME
    ]


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
    admin = make_actor(Role.ADMIN)
    stage = set_stage(admin)
    headers = {"Authorization": f"Bearer {create_token(admin, 'all', list(Scope)).text}"}
    before = stored()
    routes = [route for route in api_routes() if route.method in {"POST", "PATCH", "PUT"}]
    taken = []
    for route in routes:
        for name, value in EXTRA.items():
            body = {**body_of(route), name: value}
            answer = stage.send(Client(), route, "own", body, headers)
            if answer.status_code != 422 or name not in paths_of(answer):
                taken.append(f"{route} took {name}: {answer.status_code}")
    assert taken == []
    assert len(routes) >= 17
    assert stored() == before


def paths_of(answer: Any) -> list[str]:
    return [problem["path"] for problem in answer.json()["problems"]]


def test_an_upload_and_a_configuration_in_a_body_refuse_them_too():
    runner = make_actor(Role.RUNNER)
    set_stage(runner)
    headers = {"Authorization": f"Bearer {create_token(runner, 'all', list(Scope)).text}"}
    before = stored()
    sent = {"name": "new", "owner": "1"}
    upload = Client().post("/api/v1/datasets", sent, headers=headers)
    document = {**read_document(YAML), "owner": 1}
    launch = Client().post(
        "/api/v1/runs",
        {"configuration": document},
        content_type="application/json",
        headers=headers,
    )
    assert [answer.status_code for answer in (upload, launch)] == [422, 422]
    assert "owner" in paths_of(upload)
    assert "owner" in paths_of(launch)
    assert stored() == before


@pytest.mark.parametrize("role", [Role.RUNNER, Role.ADMIN])
def test_forms_do_the_same_with_fields_that_they_do_not_have(role):
    person = make_actor(role)
    stage = set_stage(person)
    root = client_of(make_person("root", staff=True))
    browser = client_of(person)
    routes = [
        route
        for route in page_routes(root, {"pk": 1, **stage.arguments["own"]})
        if route.method == "POST"
    ]
    start, changed = stored(), set()
    for route in routes:
        plain = FORMS.get(route.name, {})
        without = after(browser, stage, route, plain)
        assert after(browser, stage, route, {**plain, **EXTRA}) == without, route
        if without != start:
            changed.add(route.name)
    needed = set(FORMS) if role == Role.ADMIN else {"run_new", "dataset_import", "run_share"}
    assert needed <= changed, "a form that was refused shows nothing"


def after(browser: Client, stage: Stage, route: Route, form: dict[str, Any]) -> dict[str, Any]:
    """What is stored then. It is taken back."""
    with transaction.atomic():
        stage.send(same_browser(browser), route, "own", form)
        found = stored()
        transaction.set_rollback(True)
    return found
