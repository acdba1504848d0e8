"""Five roles, no role and nobody x every route x one's own, somebody else's and a shared object."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from runs.api.api import api
from runs.api.doors import Door
from runs.models import AuditEntry, Scope
from runs.permissions import declared_by
from runs.roles import Permission, Role
from runs.routing import websocket_urlpatterns
from runs.services.people.tokens import create_token
from tests.harness.factories import make_person
from tests.roles.expectations import PAGES, RULES, Anybody, Rule, Thing
from tests.roles.routes import API_ROOT, Route, api_routes, every_pattern, page_routes
from tests.roles.stage import (
    OWNERS,
    Stage,
    client_of,
    different_roles,
    make_actor,
    same_browser,
    set_stage,
)

pytestmark = pytest.mark.django_db

LET_IN = "let in"
NOBODY = "nobody"
NO_ROLE = "no role"
ACTORS: list[str] = [NOBODY, NO_ROLE, *Role]
RANKS: dict[Any, int] = {actor: rank for rank, actor in enumerate(ACTORS)}
CLOSED = {401, 403, 404, 405}


@pytest.fixture(autouse=True)
def no_rate_limit(settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = 100_000


def person_for(actor: str) -> User | None:
    if actor == NOBODY:
        return None
    return make_actor(None if actor == NO_ROLE else Role(actor))


def browser_of(person: User | None) -> Client:
    return client_of(person) if person else Client()


def every_route(stage: Stage) -> list[Route]:
    admin = client_of(make_person("root", staff=True))
    arguments = {"pk": 1, **stage.arguments["own"]}
    return [*page_routes(admin, arguments), *api_routes()]


def outcome(answer: HttpResponse) -> str | int:
    """Let in, or how the door was closed. A form that was not filled in was read by somebody."""
    if answer.status_code == 302 and answer["Location"].startswith(reverse("sign_in")):
        return 401
    assert answer.status_code < 500, answer.getvalue()[:500]
    return answer.status_code if answer.status_code in CLOSED else LET_IN


def expected(actor: str, route: Route, rule: Rule, whose: str) -> str | int:
    if rule.gone:
        return 404
    if rule.least == Anybody.PUBLIC:
        return LET_IN
    if actor == NOBODY:
        return 401
    if rule.least == Anybody.SIGNED_IN:
        return LET_IN
    if RANKS[actor] < RANKS[rule.least]:
        return rule.refusal
    return for_object(actor, route, rule, whose)


def for_object(actor: str, route: Route, rule: Rule, whose: str) -> str | int:
    thing = rule.thing
    if thing == Thing.COMMON or whose == "own":
        return LET_IN
    if thing == Thing.TOKEN:
        return 404
    if RANKS[actor] >= RANKS[Role.OPERATOR]:
        return LET_IN
    if whose == "foreign":
        return 404
    return LET_IN if (route.is_safe and not rule.changes) or rule.looks else 403


def wrong_cells(
    actor: str, routes: list[Route], ask: Callable[[Route, str], HttpResponse]
) -> Iterator[str]:
    """Each request in a transaction of its own that is taken back."""
    for route in routes:
        rule = RULES[str(route)]
        for whose in ["own"] if rule.thing == Thing.COMMON else OWNERS:
            with transaction.atomic():
                found = outcome(ask(route, whose))
                transaction.set_rollback(True)
            wanted = expected(actor, route, rule, whose)
            # Signing out leads to the sign-in page, for those who were let in.
            if found != wanted and not (route.name == "sign_out" and wanted == LET_IN):
                yield f"{route} of {whose}: {found}, expected {wanted}"


def test_every_route_is_in_the_table_and_every_line_is_a_route():
    stage = set_stage(None)
    assert {str(route) for route in every_route(stage)} == set(RULES)


@pytest.mark.parametrize("actor", [NOBODY, NO_ROLE, *different_roles()])
def test_pages_and_the_api_let_in_exactly_whom_they_should(actor):
    person = person_for(actor)
    stage = set_stage(person)
    browser = browser_of(person)
    wrong = wrong_cells(
        actor,
        every_route(stage),
        lambda route, whose: stage.ask(same_browser(browser), route, whose),
    )
    assert list(wrong) == []


@pytest.mark.parametrize("role", different_roles())
def test_a_token_with_all_scopes_may_do_what_its_owner_may_and_no_more(role):
    person = make_actor(role)
    stage = set_stage(person)
    token = create_token(person, "all", list(Scope)).text
    headers = {"Authorization": f"Bearer {token}"}
    wrong = wrong_cells(
        role, api_routes(), lambda route, whose: stage.ask(Client(), route, whose, headers)
    )
    assert list(wrong) == []


@pytest.mark.parametrize("actor", ACTORS)
def test_there_is_nothing_at_the_root_of_the_api(actor):
    assert browser_of(person_for(actor)).get(API_ROOT).status_code == 404


def test_every_page_route_and_socket_declares_its_permission():
    for namespace, path, pattern in every_pattern():
        assert declared_by(pattern.callback) is not None, f"{namespace} {path}: add @requires(…)"
    for route in websocket_urlpatterns:
        consumer: Any = route.callback
        assert isinstance(consumer.consumer_class.permission, Permission)


def test_the_api_is_public_to_the_pages_only_because_its_doors_ask():
    for router in api._get_bound_routers():
        for view in router.path_operations.values():
            for operation in view.operations:
                doors: list[Any] = list(operation.auth_callbacks)
                assert doors, operation.operation_id
                assert all(isinstance(door, Door) for door in doors), operation.operation_id
                assert {door.permission for door in doors} - {Permission.PUBLIC}


def test_the_permission_declared_is_the_one_that_the_table_expects():
    """A page that declares too much or too little would show in the matrix; this says where."""
    stage = set_stage(None)
    for route in every_route(stage):
        if route.is_api or route.name == "metrics":
            continue
        declared = declared_by(route.callback)
        assert declared is not None
        is_public = declared.for_method(route.method) == Permission.PUBLIC
        assert is_public == (PAGES[str(route)].least == Anybody.PUBLIC), route


@pytest.mark.parametrize("actor", [actor for actor in ACTORS if actor != Role.ADMIN])
def test_the_admin_lets_in_admins_only(actor):
    browser = browser_of(person_for(actor))
    for name in ("index", "runs_run_changelist", "runs_endpoint_add", "password_change"):
        answer = browser.get(reverse(f"admin:{name}"), follow=True)
        is_sign_in = answer.request["PATH_INFO"] == reverse("sign_in")
        assert answer.status_code == (200 if is_sign_in else 403)
        assert is_sign_in == (actor == NOBODY)


def test_nothing_that_is_sent_is_taken_without_the_csrf_token():
    person = make_actor(Role.ADMIN)
    stage = set_stage(person)
    signed_in = client_of(person)
    routes = [route for route in every_route(stage) if not route.is_safe]
    before = everything_stored()
    for route in routes:
        browser = same_browser(signed_in, enforce_csrf_checks=True)
        assert stage.ask(browser, route, "own").status_code == 403, route
    assert everything_stored() == before


@pytest.mark.parametrize("role", [Role.VIEWER, Role.ADMIN])
def test_looking_changes_nothing(role):
    person = make_actor(role)
    stage = set_stage(person)
    browser = client_of(person)
    routes = [route for route in every_route(stage) if route.is_safe]
    before = everything_stored()
    for route in routes:
        stage.ask(same_browser(browser), route, "own")
    assert everything_stored() == before


def everything_stored() -> dict[str, Any]:
    """Every row of every table, but for the notes of downloads and refusals. Of sessions only how
    many: their end is moved with their use."""
    rows: dict[str, Any] = {
        model._meta.label: list(model._default_manager.order_by("pk").values())
        for model in apps.get_models()
        if model not in {Session, AuditEntry}
    }
    return {**rows, "sessions": Session.objects.count()}
