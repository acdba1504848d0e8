"""Who may come in, and how every refusal looks."""

import hashlib
import json
import re
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from runs.api.api import api
from runs.api.doors import FAILURES_PER_MINUTE, Door
from runs.models import ApiToken, Run, Scope
from runs.rates import RateCounter
from runs.services.people.accounts import needs_setup
from runs.services.people.tokens import authenticate_token, create_token, revoke_token
from tests.api.asking import EVERYTHING, ROOT, Asker
from tests.harness.factories import client_of
from tests.runs.conftest import said_by
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

JSON, PROBLEM = "application/json", "application/problem+json"
EXAMPLES = {"run_id": 1, "position": 0, "benchmark_id": 1, "webhook_id": 1, "name": "simulated"}
EXAMPLES |= {"delivery_id": 1, "invitation_id": 1, "person": "grace"}


def every_operation():
    for router in api._get_bound_routers():
        for path, view in router.path_operations.items():
            yield from ((one.methods[0].lower(), path, one) for one in view.operations)


def every_route():
    for method, path, operation in every_operation():
        address = re.sub(r"\w+:", "", path).format(**EXAMPLES)
        yield f"{method} {path}", method, address, operation


def scope_of(operation):
    doors = list(operation.auth_callbacks)
    assert all(isinstance(door, Door) for door in doors)
    (scope,) = {door.scope for door in doors}
    return Scope(scope)


def report_in(answer, status):
    """The problem report of this status that an answer is; None if it is none."""
    is_report = answer.status_code == status and answer["Content-Type"] == PROBLEM
    body = json.loads(answer.content) if is_report else {}
    is_whole = {"type", "title", "detail", "problems"} <= body.keys() and body["status"] == status
    return body if is_whole and body["request_id"] == answer["X-Request-ID"] != "" else None


def is_problem(answer, status):
    body = report_in(answer, status)
    assert body is not None, (answer.status_code, answer.headers, answer.content[:500])
    return body


def test_every_route_is_closed_without_a_token_and_who_reads_may_change_nothing():
    open_ones = []
    for name, method, address, operation in every_route():
        answer = getattr(Client(), method)(ROOT + address)
        is_closed = report_in(answer, 401) and answer["WWW-Authenticate"] == "Bearer"
        if not is_closed or len(operation.auth_callbacks) != 2 or scope_of(operation) not in Scope:
            open_ones.append(name)
    assert open_ones == []
    reading = {"estimate_run"}  # it starts nothing
    for method, path, operation in every_operation():
        is_reading = method == "get" or operation.operation_id in reading
        assert (scope_of(operation) == Scope.READ) == is_reading, path


def test_a_token_without_the_scope_is_refused_by_every_route(alice):
    without = {scope: Asker(alice, *({*EVERYTHING} - {scope})) for scope in Scope}
    told = {}
    for name, method, address, operation in every_route():
        scope = scope_of(operation)
        body = report_in(without[scope].ask(method, address), 403)
        if not body or f"needs the scope {scope}" not in body["detail"]:
            told[name] = body
    assert told == {}


def test_unknown_parameters_are_refused_by_every_route_with_what_is_allowed(staff):
    told = {}
    for name, method, address, _ in every_route():
        body = report_in(staff.ask(method, f"{address}?limt=5"), 422) or {"detail": "no report"}
        says = "Allowed here: " in body["detail"] or "takes no parameters." in body["detail"]
        if not says or body["problems"][0]["path"] != "limt":
            told[name] = body
    assert told == {}


def test_a_token_that_is_none_is_refused_and_does_not_fall_back_to_the_session(alice, client):
    for header in ("Bearer ", "Bearer x", "Basic YTpi", "x", "Bearer ev_0_0"):
        is_problem(client.get(f"{ROOT}/runs", headers={"Authorization": header}), 401)
    browser = client_of(alice)
    assert browser.get(f"{ROOT}/runs").status_code == 200
    is_problem(browser.get(f"{ROOT}/runs", headers={"Authorization": "Bearer x"}), 401)
    browser.handler.enforce_csrf_checks = True  # of every route: tests/roles/test_matrix.py
    is_problem(browser.post(f"{ROOT}/runs", {}, content_type=JSON), 403)


@pytest.mark.postgresql("types: too large a number for a column, no text with a NUL")
def test_what_is_not_there_or_cannot_be_read_is_a_problem_report(asker):
    paths = {"/nothing": 404, "/runs/x": 404, "/runs/0": 422, "/runs/99999999999999999999": 422}
    for path, status in paths.items():
        is_problem(asker.get(path), status)
    for status, content_type, body in [
        (400, JSON, "{"),
        (422, JSON, '"text"'),
        (422, JSON, '{"configuration": "a\\u0000b"}'),
        (422, JSON, '{"configuration": "x", "name": 1}'),
        (415, "application/x-www-form-urlencoded", "configuration=x"),
    ]:
        is_problem(asker.post("/runs", body, content_type=content_type), status)


def test_unknown_fields_are_named_with_what_is_allowed(asker):
    body = is_problem(asker.post("/runs", {"configuration": "x", "nmae": "y"}), 422)
    told = "Unknown field. Allowed here: configuration."
    assert body["problems"] == [{"path": "nmae", "message": told}]
    answer = asker.ask("delete", "/runs")
    assert "GET" in is_problem(answer, 405)["detail"]
    assert set(answer["Allow"].split(", ")) == {"GET", "POST"}


def test_our_own_fault_is_reported_with_its_number_and_without_details(asker, caplog, run):
    Run.objects.filter(pk=run.pk).update(latency_bins={"broken": "yes"})
    body = is_problem(asker.get(f"/runs/{run.pk}"), 500)
    assert body["request_id"] in caplog.text
    assert "Traceback" in caplog.text
    assert "broken" not in body["detail"]


def test_there_are_no_cors_headers(alice, asker):
    """And what another site asks for is refused as a problem."""
    headers = {"Sec-Fetch-Site": "cross-site"}
    is_problem(client_of(alice).post(f"{ROOT}/runs", headers=headers), 403)
    answer = asker.ask("get", "/runs", headers={"Origin": "https://elsewhere.example"})
    assert [name for name in answer.headers if name.startswith("Access-Control")] == []


@pytest.mark.usefixtures("still_clock")
def test_too_many_requests_wait(alice, settings):
    settings.API_REQUESTS_PER_MINUTE = 3
    asker, other = Asker(alice), Asker(alice)
    assert [asker.get("/runs").status_code for _ in range(3)] == [200, 200, 200]
    # Redis may be too slow to be asked: then the process lets three more in.
    answers = [asker.get("/runs") for _ in range(4)]
    over = next(answer for answer in answers if answer.status_code == 429)
    is_problem(over, 429)
    assert 1 <= int(over["Retry-After"]) <= 60
    assert (over["RateLimit-Limit"], over["RateLimit-Remaining"]) == ("3", "0")
    assert other.get("/runs").status_code == 200


@pytest.mark.usefixtures("still_clock")
def test_a_loop_of_bad_tokens_waits(client):
    statuses = []
    while 429 not in statuses:
        answer = client.get(f"{ROOT}/runs", headers={"Authorization": "Bearer x"})
        statuses.append(answer.status_code)
    # Counted in Redis, and by the process while Redis is too slow to be asked.
    assert FAILURES_PER_MINUTE <= statuses.count(401) <= 2 * FAILURES_PER_MINUTE
    assert set(statuses) == {401, 429}


@pytest.mark.usefixtures("still_clock")
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


def test_a_revoked_token_is_refused_by_the_next_request_and_none_makes_another(alice, asker):
    assert not [path for _, path, _ in every_operation() if "token" in path]
    named = {"Authorization": f"Bearer {asker.text}"}
    assert Client().get("/tokens/", headers=named).status_code == 302
    assert asker.get("/runs").status_code == 200
    revoke_token(alice.api_tokens.get())
    assert asker.get("/runs").status_code == 401


WORKING = """
    post /runs, post /runs/estimate, post /runs/dry, get /compare,
    post /datasets, post /dataset-splits/sums, get /dataset-reports/sums, get /dataset-changes/sums,
    post /configurations, put /configurations/nightly, post /prompts, patch /prompts/triage,
    post /promptfoo, post /endpoints/simulated/models, post /endpoints/simulated/try
"""


def test_what_takes_work_is_limited_and_looking_is_not(ada, settings):
    settings.WORK_REQUESTS_PER_MINUTE = 0
    asker = Asker(ada)
    for route in WORKING.split(","):
        method, path = route.split()
        answer = asker.ask(method, path)
        assert answer.status_code == 429, route
        assert 1 <= int(answer["Retry-After"]) <= 60
    assert asker.get("/runs").status_code == 200


# --- Tokens: made once, kept as a hash, usable until they expire or are revoked


def test_a_token_is_known_again_and_only_its_hash_is_stored(alice):
    made = create_token(alice, "ci", ["read"])
    found = known(made.text)
    assert (found.owner, found.scopes) == (alice, ["read"])
    stored = ApiToken.objects.values().get()
    secret = made.text.removeprefix(f"{made.token.prefix}_")
    assert len(secret) == 43  # 256 bits in base 64
    assert secret not in str(stored)
    assert stored["digest"] == hashlib.sha256(made.text.encode()).hexdigest()


@pytest.mark.postgresql("types: it takes no NUL and no half characters")
def test_anything_but_the_token_is_refused(alice):
    text = create_token(alice, "ci", ["read"]).text
    never = ["", "ev_", "\x00", "ev_0000000000_" + "a" * 43, "\ud800" * 60]
    given = [text[:-1], text + "x", text.upper(), *never]
    assert [one for one in given if authenticate_token(one) is not None] == []


def test_a_token_is_compared_in_constant_time(alice):
    """Only that comparison refuses to look at letters that are not ASCII."""
    made = create_token(alice, "ci", ["read"])
    ApiToken.objects.update(digest="é" * 64)
    with pytest.raises(TypeError, match="non-ASCII"):
        authenticate_token(made.text)


def test_a_token_ends_when_it_is_revoked_with_its_days_and_with_the_account(alice):
    revoked = create_token(alice, "ci", ["read"])
    assert revoke_token(revoked.token)
    assert not revoke_token(revoked.token)
    assert authenticate_token(revoked.text) is None
    short = create_token(alice, "ci", ["read"], days=1)
    assert authenticate_token(short.text)
    ApiToken.objects.update(expires=now() - timedelta(seconds=1))
    assert authenticate_token(short.text) is None
    other = create_token(alice, "ci", ["read"])
    assert authenticate_token(other.text)
    User.objects.update(is_active=False)
    assert authenticate_token(other.text) is None


def test_a_token_must_make_sense_and_its_last_use_is_noted_once_a_minute(alice):
    wrong: list[Any] = [
        ("name", {"name": " "}),
        ("name", {"name": "x" * 81}),
        ("scopes", {"scopes": []}),
        ("scopes", {"scopes": ["read", "admin"]}),
        ("days", {"days": 0}),
    ]
    for path, given in wrong:
        with pytest.raises(ConfigurationError) as caught:
            create_token(alice, **{"name": "ci", "scopes": ["read"], **given})
        assert [problem.path for problem in caught.value.problems] == [path]
    assert not ApiToken.objects.exists()
    made = create_token(alice, "ci", ["read"])
    authenticate_token(made.text)
    first = ApiToken.objects.get().last_used
    assert first is not None
    authenticate_token(made.text)
    assert ApiToken.objects.get().last_used == first


def known(text):
    found = authenticate_token(text.strip())
    assert found is not None
    return found


def test_the_command_prints_the_token_alone_of_whom_is_named_or_the_first_administrator(alice):
    text = said_by(
        "create_token", "nightly", "--scope", "read,run", "--user", "alice", "--days", "3"
    )
    assert re.fullmatch(r"ev_[0-9a-f]{10}_[\w-]{43}\n", text)
    found = known(text)
    assert (found.owner, found.scopes, found.name) == (alice, ["read", "run"], "nightly")
    ada = User.objects.create(username="ada", is_superuser=True)
    found = known(said_by("create_token", "nightly"))
    assert (found.owner, found.scopes) == (ada, ["read", "run", "manage"])


def test_on_a_fresh_site_the_command_makes_an_account_that_leaves_the_set_up_open():
    first, second = (known(said_by("create_token", "ci")).owner for _ in range(2))
    assert first == second
    assert not first.has_usable_password()
    assert needs_setup()
    for words in (("ci", "--scope", "all"), ("ci", "--user", "nobody")):
        with pytest.raises(CommandError) as caught:
            said_by("create_token", *words)
        assert caught.value.returncode == 2


def test_the_page_shows_a_new_token_once_or_what_is_wrong(alice):
    browser = client_of(alice)
    given = {"name": "my notebook", "days": "30", "scopes": ["read"]}
    made = browser.post(reverse("tokens"), given).content.decode()
    [text] = set(re.findall(r"ev_\w{10}_[\w-]{43}", made))
    assert known(text).expires is not None
    page = browser.get(reverse("tokens")).text
    assert ("my notebook" in page, text in page) == (True, False)
    browser.post(reverse("token_revoke", args=[known(text).pk]))
    assert authenticate_token(text) is None
    assert "revoked" in browser.get(reverse("tokens")).text
    answer = browser.post(reverse("tokens"), {"name": "x", "days": "0", "scopes": []})
    assert answer.status_code == 400
    for told in ("Choose one or more of: read, run, manage.", "Give 1 to 3650 days"):
        assert told in answer.text
