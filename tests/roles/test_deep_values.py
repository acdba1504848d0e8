"""Lists inside lists inside lists: refused with a sentence at every door, and what an older version
stored of them is shown all the same."""

import json
from typing import Any

import pytest
from django.test import Client

from runs.api.api import openapi_document
from runs.consumers import read_kind
from runs.models import Candidate, Configuration, Run, Scope, ScoreRecord
from runs.roles import Role
from runs.services.people.tokens import create_token
from tests.harness.factories import add_record
from tests.roles.routes import Route, api_routes, page_routes
from tests.roles.stage import Stage, client_of, make_actor, same_browser, set_stage
from tests.roles.test_extra_fields import YAML, body_of

pytestmark = pytest.mark.django_db

SENTENCE = "nested too deeply"
DEPTHS = (65, 300, 900, 5000, 30_000)  # up to where every reader of JSON gives up by itself
STORED_DEPTH = 480  # the most that older versions could store


@pytest.fixture(autouse=True)
def no_rate_limit(settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = 100_000


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def with_bodies() -> list[Route]:
    """Of the routes, those that the OpenAPI document gives a body."""
    paths = openapi_document()["paths"]
    return [
        route
        for route in api_routes()
        if not route.is_safe and "requestBody" in paths[route.path][route.method.lower()]
    ]


def bodies_for(route: Route, levels: int) -> list[str]:
    """The depth alone, and in each field of a body that would be accepted."""
    found = [deep(levels), '{"a":' * levels + "1" + "}" * levels]
    known = body_of(route)
    for name in [*known, "unknown"]:
        rest = {key: value for key, value in known.items() if key != name}
        found.append(json.dumps(rest)[:-1] + (", " if rest else "") + f'"{name}": {deep(levels)}}}')
    return found


def test_every_route_with_a_body_refuses_a_deep_one():
    admin = make_actor(Role.ADMIN)
    stage = set_stage(admin)
    headers = {"Authorization": f"Bearer {create_token(admin, 'all', list(Scope)).text}"}
    routes = with_bodies()
    client = Client(raise_request_exception=False)
    taken = []
    for route in routes:
        for levels in DEPTHS:
            for body in bodies_for(route, levels):
                answer = stage.send(client, route, "own", body, headers)
                if answer.status_code not in {400, 422}:
                    taken.append(f"{route}, {levels}: {answer.status_code}")
    assert taken == []
    assert len(routes) >= 10
    told = stage.send(client, routes[0], "own", deep(65), headers)
    assert SENTENCE in told.content.decode()


@pytest.mark.parametrize("yaml", ["- " * 100_000, "a: " + "[" * 100_000, "{a: " * 60_000])
def test_a_deep_configuration_in_yaml_is_refused(yaml):
    runner = make_actor(Role.RUNNER)
    token = create_token(runner, "all", list(Scope)).text
    answer = Client().post(
        "/api/v1/configurations",
        yaml,
        content_type="application/yaml",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 422
    assert SENTENCE in answer.json()["detail"]


@pytest.mark.parametrize(
    "form",
    [
        {"mode": "yaml", "yaml": YAML + "metadata: " + deep(20_000)},
        {"mode": "yaml", "yaml": "- " * 100_000},
        {"mode": "form", "parameters": "stop: " + deep(20_000)},
        {"mode": "form", "where": "subject: " + deep(20_000)},
    ],
    ids=["yaml", "yaml of dashes", "parameters", "rows"],
)
@pytest.mark.parametrize("address", ["/runs/new/", "/runs/estimate/"])
def test_the_form_refuses_what_is_deep(address, form):
    runner = make_actor(Role.RUNNER)
    set_stage(runner)
    answer = client_of(runner).post(address, form)
    assert answer.status_code == (400 if address == "/runs/new/" else 200)
    if form["mode"] == "yaml":
        assert SENTENCE in answer.content.decode()
    assert not Run.objects.filter(name="mine").exists()


def test_a_deep_message_of_a_page_is_none_of_ours():
    for levels in (100, 900, 2000):
        assert read_kind('{"type": ' + deep(levels) + "}") == ""
    assert read_kind('{"type": "ack"}') == "ack"


def store_deep_values(levels: int) -> None:
    """As versions without a limit did."""
    value = json.loads(deep(levels))
    model = {"endpoint": "simulated", "model": "sim-small", "parameters": {"stop": value}}
    for run in Run.objects.all():
        run.document = {**run.document, "models": [model]}
        run.save()
    for stored in Configuration.objects.all():
        stored.document = {**stored.document, "models": [model]}
        stored.save()
    for candidate in Candidate.objects.all():
        candidate.document = {**candidate.document, "model": model}
        candidate.save()
    for record in ScoreRecord.objects.select_related("score"):
        score = record.score
        record.delete()
        add_record(score, {"steps": value})


def test_stored_depths_do_not_break_their_pages():
    admin = make_actor(Role.ADMIN)
    stage = set_stage(admin)
    store_deep_values(STORED_DEPTH)
    browser = client_of(admin)
    browser.raise_request_exception = False
    pages = page_routes(browser, {"pk": 1, **stage.arguments["own"]})
    routes = [
        route
        for route in (*pages, *api_routes())
        if route.is_safe and not route.path.endswith("/events/stream")
    ]
    broken = [str(route) for route in routes if is_broken(stage, browser, route)]
    broken += [address for address in more_addresses() if breaks(browser.get(address))]
    assert broken == []


def more_addresses() -> list[str]:
    run, stored = Run.objects.all()[0], Configuration.objects.all()[0]
    return [
        f"/runs/new/?run={run.pk}",
        f"/runs/new/?configuration={stored.pk}",
        f"/admin/runs/configuration/{stored.pk}/change/",
        f"/runs/{run.pk}/scores.jsonl?show=record",
    ]


def is_broken(stage: Stage, browser: Client, route: Route) -> bool:
    client = same_browser(browser, raise_request_exception=False)
    return breaks(stage.ask(client, route, "own"))


def breaks(answer: Any) -> bool:
    """A stream is read to its end, where it would raise."""
    if answer.streaming:
        b"".join(answer.streaming_content)
    return bool(answer.status_code >= 500)
