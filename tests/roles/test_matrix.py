"""Five roles, no role and nobody x every route x one's own, somebody else's and a shared object."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import Resolver404, ResolverMatch, resolve, reverse

from runs.models import ApiToken, AuditEntry
from runs.permissions import declared_by
from runs.roles import PERMISSIONS, Permission, Role
from runs.routing import websocket_urlpatterns
from tests.harness.factories import client_of
from tests.roles.stage import OWNERS, Stage, make_actor, set_stage, token_of
from tests.roles.test_routes import (
    API_ROOT,
    RULES,
    Anybody,
    Route,
    Rule,
    Thing,
    every_pattern,
    every_route,
)

pytestmark = pytest.mark.django_db

LET_IN = "let in"
NOBODY = "nobody"
NO_ROLE = "no role"
ACTORS: list[str] = [NOBODY, NO_ROLE, *Role]
# An author may write code, which no route asks for: a runner stands for both (tested below).
WALKERS = [actor for actor in ACTORS if actor != Role.AUTHOR]
RANKS: dict[Any, int] = {actor: rank for rank, actor in enumerate(ACTORS)}
CLOSED = {401, 403, 404, 405}

FORM = re.compile(r"<form\b[^>]*>")
ADDRESS = re.compile(r'<a\b[^>]*\bhref="(/[^"?#]*)')
ACTION = re.compile(r'\baction="(/[^"?#]*)')
SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")[^>]*>")
INLINE = re.compile(r"""\sstyle=|<style|\son[a-z]+\s*=\s*["']|javascript:""")
# They lead elsewhere; which files a run has depends on its kind; Parquet is no text.
NO_PAGES = {"sign_in", "home", "run_cell", "run_file", "run_scores_parquet"}


class Cell(NamedTuple):
    route: Route
    whose: str

    def __str__(self) -> str:
        return f"{self.route} of {self.whose}"


class Offer(NamedTuple):
    method: str
    path: str


def person_for(actor: str) -> User | None:
    if actor == NOBODY:
        return None
    return make_actor(None if actor == NO_ROLE else Role(actor))


def browser_of(person: User | None) -> Client:
    return client_of(person) if person else Client()


class Asking:
    """Those who have a role ask every other time for the API as its programs do, with a token of
    all scopes; the next role asks the other way round. Both doors have one rule (`Door.admit`)."""

    def __init__(self, actor: str, person: User | None) -> None:
        self.browser, self.program = browser_of(person), Client()
        self.token = token_of(person) if person and actor != NO_ROLE else None
        self.turn = RANKS[actor]

    def __call__(self, stage: Stage, cell: Cell) -> HttpResponse:
        if self.token and cell.route.is_api:
            self.turn += 1
            if self.turn % 2:
                return stage.ask(self.program, cell.route, cell.whose, **self.token)
        return stage.ask(self.browser, *cell)


def every_cell(actor: str) -> list[Cell]:
    """To whom the work of others is open, it is so whether it is shared or not."""
    sees_all = RANKS[actor] >= RANKS[Role.OPERATOR]
    owners = [whose for whose in OWNERS if not (sees_all and whose == "shared")]
    return [
        Cell(route, whose)
        for route in every_route()
        for whose in (["own"] if RULES[str(route)].thing == Thing.COMMON else owners)
    ]


def outcome(answer: HttpResponse) -> str | int:
    """Let in, or how the door was closed. A form that was not filled in was read by somebody."""
    if answer.status_code == 302 and answer["Location"].startswith(reverse("sign_in")):
        return 401
    assert answer.status_code < 500, answer.getvalue()[:500]
    return answer.status_code if answer.status_code in CLOSED else LET_IN


def expected(actor: str, method: str, rule: Rule, whose: str) -> str | int:
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
    return for_object(actor, method, rule, whose)


def for_object(actor: str, method: str, rule: Rule, whose: str) -> str | int:
    thing = rule.thing
    if thing == Thing.COMMON or whose == "own":
        return LET_IN
    if thing == Thing.TOKEN:
        return 404
    if RANKS[actor] >= RANKS[Role.OPERATOR]:
        return LET_IN
    if whose == "foreign":
        return 404
    return LET_IN if (method == "GET" and not rule.changes) or rule.looks else 403


def wrong_with(actor: str, cell: Cell, answer: HttpResponse) -> Iterator[str]:
    found = outcome(answer)
    wanted = expected(actor, cell.route.method, RULES[str(cell.route)], cell.whose)
    # Signing out leads to the sign-in page, for those who were let in.
    if found != wanted and not (cell.route.name == "sign_out" and wanted == LET_IN):
        yield f"{cell}: {found}, expected {wanted}"


def wrong_on_page(cell: Cell, answer: HttpResponse, page: str) -> Iterator[str]:
    if answer.status_code != 200:
        yield f"{cell} is no page: {answer.status_code}"
    yield from (f"{cell}: inline {found}" for found in SCRIPT.findall(page) + INLINE.findall(page))


def offers_of(page: str) -> Iterator[Offer]:
    yield from (Offer("GET", path) for path in ADDRESS.findall(page))
    for form in FORM.findall(page):
        method = "POST" if 'method="post"' in form else "GET"
        yield from (Offer(method, path) for path in ACTION.findall(form))


def is_good(role: str, offer: Offer, stage: Stage) -> bool:
    try:
        match = resolve(offer.path)
    except Resolver404:
        return False
    if "admin" in match.namespaces:
        return role == Role.ADMIN
    rule = RULES.get(f"{offer.method} {match.url_name}")
    if rule is None:  # of the API, which has no names: these are read only
        return "api" in match.namespaces and offer.method == "GET"
    return expected(role, offer.method, rule, whose_thing(match, rule, stage)) == LET_IN


def whose_thing(match: ResolverMatch, rule: Rule, stage: Stage) -> str:
    """The dataset that all runs of the stage are on is somebody else's, and private. Prompts and
    configurations are shared as datasets are."""
    arguments = match.kwargs
    if rule.thing == Thing.DATASET:
        kind = str(match.url_name).split("_", maxsplit=1)[0]
        by_key = {stage.arguments[whose][f"{kind}s.pk"]: whose for whose in OWNERS}
        return by_key.get(arguments["pk"], "foreign")
    by_run = {stage.arguments[whose]["run_id"]: whose for whose in OWNERS}
    return by_run.get(arguments.get("run_id"), "own")


def everything_stored() -> dict[str, Any]:
    """Every row of every table, but for the notes of downloads and refusals. Of sessions and tokens
    only how many: their use is noted."""
    kept = [model for model in apps.get_models() if model not in {AuditEntry, Session, ApiToken}]
    rows: dict[str, Any] = {
        model._meta.label: list(model._default_manager.order_by("pk").values()) for model in kept
    }
    return {**rows, "counts": (Session.objects.count(), ApiToken.objects.count())}


@pytest.mark.parametrize("actor", WALKERS)
def test_pages_and_the_api_let_in_exactly_whom_they_should(actor):
    """Looking changes nothing, so that it needs no transaction; what is sent is taken back. Nobody
    is offered a link or a button that would be refused."""
    person = person_for(actor)
    stage, ask = set_stage(person), Asking(actor, person)
    cells, offered = every_cell(actor), defaultdict(list)
    wrong: list[str] = []
    before = everything_stored()
    for cell in [cell for cell in cells if cell.route.is_safe]:
        answer = ask(stage, cell)
        wrong += wrong_with(actor, cell, answer)
        is_page = not cell.route.is_api and cell.route.name not in NO_PAGES
        if is_page and outcome(answer) == LET_IN:
            page = answer.getvalue().decode()
            wrong += wrong_on_page(cell, answer, page)
            for offer in set(offers_of(page)):
                offered[offer].append(str(cell))
    assert everything_stored() == before
    for cell in [cell for cell in cells if not cell.route.is_safe]:
        with transaction.atomic():
            wrong += wrong_with(actor, cell, ask(stage, cell))
            transaction.set_rollback(True)
    assert wrong == []
    if RANKS[actor] >= RANKS[Role.VIEWER]:
        bad = {offer for offer in offered if not is_good(actor, offer, stage)}
        assert {offer: offered[offer] for offer in bad} == {}


def test_an_author_may_write_code_besides_which_no_route_asks_for():
    assert PERMISSIONS[Role.AUTHOR] - PERMISSIONS[Role.RUNNER] == {Permission.WRITE_CODE}
    assert Role.AUTHOR not in {rule.least for rule in RULES.values()}


def test_every_page_route_and_socket_declares_its_permission():
    for namespace, path, pattern in every_pattern():
        assert declared_by(pattern.callback) is not None, f"{namespace} {path}: add @requires(…)"
    for route in websocket_urlpatterns:
        consumer: Any = route.callback
        assert isinstance(consumer.consumer_class.permission, Permission)


@pytest.mark.parametrize("actor", ACTORS)
def test_the_admin_lets_in_admins_only_and_nothing_is_at_the_root_of_the_api(actor):
    browser = browser_of(person_for(actor))
    assert browser.get(API_ROOT).status_code == 404
    pages = ("index", "runs_run_changelist", "runs_endpoint_add", "password_change")
    for name in pages if actor != Role.ADMIN else ():
        answer = browser.get(reverse(f"admin:{name}"), follow=True)
        is_sign_in = answer.request["PATH_INFO"] == reverse("sign_in")
        assert answer.status_code == (200 if is_sign_in else 403)
        assert is_sign_in == (actor == NOBODY)


def test_nothing_that_is_sent_is_taken_without_the_csrf_token():
    person = make_actor(Role.ADMIN)
    stage, browser = set_stage(person), Client(enforce_csrf_checks=True)
    browser.force_login(person)
    before = everything_stored()
    sent = {route: stage.ask(browser, route, "own") for route in every_route() if not route.is_safe}
    assert [str(route) for route, answer in sent.items() if answer.status_code != 403] == []
    assert everything_stored() == before
