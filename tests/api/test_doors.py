"""Who may come in, and how every refusal looks."""

import json
import re
from typing import Any

import pytest
import redis
from django.conf import settings
from django.test import Client
from django.utils.timezone import now
from ninja.operation import Operation

from runs.api.api import api
from runs.api.doors import FAILURES_PER_MINUTE, Door
from runs.models import Run, RunState, Scope
from runs.rates import RateCounter
from runs.services.people.tokens import revoke_token
from tests.api.asking import EVERYTHING, ROOT, Asker
from tests.harness.factories import client_of, make_person

pytestmark = pytest.mark.django_db

EXAMPLES = {"run_id": 1, "position": 0, "benchmark_id": 1, "webhook_id": 1, "name": "simulated"}
EXAMPLES |= {"delivery_id": 1, "invitation_id": 1, "person": "grace"}


def every_operation() -> list[tuple[str, str, Operation]]:
    return [
        (operation.methods[0].lower(), path, operation)
        for router in api._get_bound_routers()
        for path, view in router.path_operations.items()
        for operation in view.operations
    ]


def as_route(method: str, path: str, operation: Operation) -> Any:
    address = re.sub(r"\w+:", "", path).format(**EXAMPLES)
    return pytest.param(method, address, operation, id=f"{method} {path}")


ROUTES = [as_route(*route) for route in every_operation()]


def scope_of(operation: Operation) -> Scope:
    doors: list[Any] = list(operation.auth_callbacks)
    assert all(isinstance(door, Door) for door in doors)
    (scope,) = {door.scope for door in doors}
    return Scope(scope)


def is_problem(answer, status):
    body = json.loads(answer.content)
    assert answer["Content-Type"] == "application/problem+json"
    assert (answer.status_code, body["status"]) == (status, status)
    assert body["request_id"] == answer["X-Request-ID"] != ""
    assert {"type", "title", "detail", "problems"} <= body.keys()
    return body


@pytest.mark.parametrize(("method", "path", "operation"), ROUTES)
def test_every_route_declares_a_scope_and_is_closed_without_a_token(method, path, operation):
    assert len(operation.auth_callbacks) == 2
    assert scope_of(operation) in Scope
    answer = getattr(Client(), method)(ROOT + path)
    is_problem(answer, 401)
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(("method", "path", "operation"), ROUTES)
def test_a_token_without_the_scope_is_refused(alice, method, path, operation):
    others = [scope for scope in EVERYTHING if scope != scope_of(operation)]
    body = is_problem(Asker(alice, *others).ask(method, path), 403)
    assert f"needs the scope {scope_of(operation)}" in body["detail"]


@pytest.mark.parametrize(("method", "path", "operation"), ROUTES)
def test_a_session_changes_nothing_without_the_csrf_token(method, path, operation):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(make_person("ada", staff=True))  # who may ask for everything
    answer = getattr(browser, method)(ROOT + path, content_type="application/json")
    if method != "get":
        is_problem(answer, 403)
    assert (answer.status_code == 403) == (method != "get")


@pytest.mark.parametrize(("method", "path", "operation"), ROUTES)
def test_unknown_parameters_are_refused_with_what_is_allowed(staff, method, path, operation):
    body = is_problem(staff.ask(method, f"{path}?limt=5"), 422)
    assert body["problems"][0]["path"] == "limt"
    assert "Allowed here: " in body["detail"] or "takes no parameters." in body["detail"]


def test_the_scopes_of_what_changes_something_are_not_those_of_reading():
    reading = {"estimate_run"}  # it starts nothing
    for method, path, operation in every_operation():
        is_reading = method == "get" or operation.operation_id in reading
        assert (scope_of(operation) == Scope.READ) == is_reading, path


@pytest.mark.parametrize("header", ["Bearer ", "Bearer x", "Basic YTpi", "x", "Bearer ev_0_0"])
def test_a_token_that_is_none_is_refused(header):
    is_problem(Client().get(f"{ROOT}/runs", headers={"Authorization": header}), 401)


def test_a_bad_token_does_not_fall_back_to_the_session(alice):
    browser = client_of(alice)
    assert browser.get(f"{ROOT}/runs").status_code == 200
    is_problem(browser.get(f"{ROOT}/runs", headers={"Authorization": "Bearer x"}), 401)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", ""),
        ("get", "/candidates"),
        ("get", "/scores"),
        ("get", "/samples"),
        ("get", "/events"),
        ("get", "/live"),
        ("get", "/trials/0"),
        ("post", "/pause"),
        ("post", "/resume"),
        ("post", "/cancel"),
        ("post", "/retry"),
        ("post", "/trials/0/rerun"),
        ("patch", "/limits"),
    ],
)
def test_a_strangers_run_is_not_there(run, asker, stranger, method, path):
    body = {"reason": "x", "max_concurrent": 3} if method == "patch" else None
    is_problem(stranger.ask(method, f"/runs/{run.pk}{path}", body), 404)
    assert Run.objects.get(pk=run.pk).state == RunState.RUNNING
    assert asker.ask(method, f"/runs/{run.pk}{path}", body).status_code in {200, 409}


@pytest.mark.parametrize("path", ["/nothing", "/runs/x", "/runs/0", "/runs/99999999999999999999"])
def test_what_is_not_there_is_a_problem_report(asker, path):
    answer = asker.get(path)
    is_problem(answer, 422 if path in {"/runs/0", "/runs/99999999999999999999"} else 404)


def test_another_method_is_a_problem_report(asker):
    answer = asker.ask("delete", "/runs")
    assert "GET" in is_problem(answer, 405)["detail"]
    assert set(answer["Allow"].split(", ")) == {"GET", "POST"}


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ("{", "application/json", 400),
        ('"text"', "application/json", 422),
        ('{"configuration": "a\\u0000b"}', "application/json", 422),
        ('{"configuration": "x", "name": 1}', "application/json", 422),
        ("configuration=x", "application/x-www-form-urlencoded", 415),
        ('"' + "x" * (21 * 1024 * 1024) + '"', "application/json", 413),
    ],
    ids=["cut off", "not an object", "NUL", "unknown field", "a form", "too large"],
)
def test_a_body_that_cannot_be_read_is_a_problem_report(asker, body, content_type, status):
    is_problem(asker.post("/runs", body, content_type=content_type), status)


def test_unknown_fields_are_named_with_what_is_allowed(asker):
    body = is_problem(asker.post("/runs", {"configuration": "x", "nmae": "y"}), 422)
    told = "Unknown field. Allowed here: configuration."
    assert body["problems"] == [{"path": "nmae", "message": told}]


def test_our_own_fault_is_reported_with_its_number_and_without_details(asker, caplog, run):
    Run.objects.filter(pk=run.pk).update(latency_bins={"broken": "yes"})
    body = is_problem(asker.get(f"/runs/{run.pk}"), 500)
    assert body["request_id"] in caplog.text
    assert "Traceback" in caplog.text
    assert "broken" not in body["detail"]


def test_a_request_of_another_site_is_refused_as_a_problem(alice):
    headers = {"Sec-Fetch-Site": "cross-site"}
    is_problem(client_of(alice).post(f"{ROOT}/runs", headers=headers), 403)


def test_there_are_no_cors_headers(asker):
    answer = asker.ask("get", "/runs", headers={"Origin": "https://elsewhere.example"})
    assert [name for name in answer.headers if name.startswith("Access-Control")] == []


@pytest.fixture
def one_minute(time_machine):
    """That does not end."""
    time_machine.move_to(now(), tick=False)


@pytest.mark.usefixtures("one_minute")
def test_too_many_requests_wait(alice, settings):
    settings.API_REQUESTS_PER_MINUTE = 3
    asker, other = Asker(alice), Asker(alice)
    assert [asker.get("/runs").status_code for _ in range(3)] == [200, 200, 200]
    # Redis may be too slow to be asked: then the process lets three more in.
    answers = [asker.get("/runs") for _ in range(4)]
    over = next(answer for answer in answers if answer.status_code == 429)
    is_problem(over, 429)
    assert 1 <= int(over["Retry-After"]) <= 60
    assert over["RateLimit-Limit"] == "3"
    assert over["RateLimit-Remaining"] == "0"
    assert other.get("/runs").status_code == 200


@pytest.mark.usefixtures("one_minute")
def test_a_loop_of_bad_tokens_waits(client):
    statuses = []
    while 429 not in statuses:
        answer = client.get(f"{ROOT}/runs", headers={"Authorization": "Bearer x"})
        statuses.append(answer.status_code)
    # Counted in Redis, and by the process while Redis is too slow to be asked.
    assert FAILURES_PER_MINUTE <= statuses.count(401) <= 2 * FAILURES_PER_MINUTE
    assert set(statuses) == {401, 429}


@pytest.mark.usefixtures("one_minute")
def test_without_redis_a_process_counts_by_itself():
    counter = RateCounter("redis://127.0.0.1:1")
    assert [counter.take("token:1", limit=2).used for _ in range(4)] == [1, 2, 3, 4]
    assert counter.take("token:2", limit=2).used == 1


def test_all_processes_count_together():
    counters = [RateCounter(settings.REDIS_URL) for _ in range(2)]
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        for counter in counters:
            counter.take("token:77", limit=2)
        counts = [int(client.get(key)) for key in client.scan_iter("api:rate:token:77:*")]
    assert sum(counts) == 2


def test_a_revoked_token_is_refused_by_the_next_request(alice, asker):
    assert asker.get("/runs").status_code == 200
    revoke_token(alice.api_tokens.get())
    assert asker.get("/runs").status_code == 401


def test_tokens_cannot_be_made_with_a_token(asker):
    assert not [path for _, path, _ in every_operation() if "token" in path]
    named = {"Authorization": f"Bearer {asker.text}"}
    assert Client().get("/tokens/", headers=named).status_code == 302
    assert make_person("eve").api_tokens.count() == 0
