"""Pages offer nobody a link or a button that would be refused."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from django.urls import Resolver404, ResolverMatch, resolve

from runs.roles import Role
from tests.harness.factories import make_person
from tests.roles.expectations import PAGES, RULES, Rule, Thing
from tests.roles.routes import Route, page_routes
from tests.roles.stage import OWNERS, Stage, client_of, different_roles, make_actor, set_stage
from tests.roles.test_matrix import LET_IN, expected

pytestmark = pytest.mark.django_db

FORM = re.compile(r"<form\b[^>]*>")
ADDRESS = re.compile(r'<a\b[^>]*\bhref="(/[^"?#]*)')
ACTION = re.compile(r'\baction="(/[^"?#]*)')


class Offer(NamedTuple):
    method: str
    path: str


def offers_of(page: str) -> Iterator[Offer]:
    yield from (Offer("GET", path) for path in ADDRESS.findall(page))
    for form in FORM.findall(page):
        method = "POST" if 'method="post"' in form else "GET"
        yield from (Offer(method, path) for path in ACTION.findall(form))


def is_good(role: Role, offer: Offer, stage: Stage) -> bool:
    try:
        match = resolve(offer.path)
    except Resolver404:
        return False
    if "admin" in match.namespaces:
        return role == Role.ADMIN
    name = f"{offer.method} {match.url_name}"
    rule = RULES.get(name)
    if rule is None:  # of the API, which has no names: these are read only
        return "api" in match.namespaces and offer.method == "GET"
    route = Route(str(match.url_name), offer.method, offer.path, match.func, False)
    return expected(role, route, rule, whose_thing(match, rule, stage)) == LET_IN


def whose_thing(match: ResolverMatch, rule: Rule, stage: Stage) -> str:
    """The dataset that all runs of the stage are on is somebody else's, and private. Prompts and
    configurations are shared as datasets are."""
    arguments = match.kwargs
    if rule.thing == Thing.DATASET:
        kind = str(match.url_name).split("_", maxsplit=1)[0]
        key = f"{kind}s.pk"
        by_key = {stage.arguments[whose][key]: whose for whose in OWNERS}
        return by_key.get(arguments["pk"], "foreign")
    by_run = {stage.arguments[whose]["run_id"]: whose for whose in OWNERS}
    return by_run.get(arguments.get("run_id"), "own")


@pytest.mark.parametrize("role", different_roles())
def test_every_link_and_button_of_every_page_works_for_whom_it_is_shown(role):
    person = make_actor(role)
    stage = set_stage(person)
    browser = client_of(person)
    root = client_of(make_person("root", staff=True))
    bad = []
    for route in page_routes(root, {"pk": 1, **stage.arguments["own"]}):
        for whose in ("own", "shared") if route.is_safe else ():
            if expected(role, route, PAGES[str(route)], whose) != LET_IN:
                continue
            answer = stage.ask(browser, route, whose)
            page = answer.getvalue().decode(errors="replace")  # a Parquet file is no text
            bad += [
                f"{route}: {offer.method} {offer.path}"
                for offer in offers_of(page)
                if not is_good(role, offer, stage)
            ]
    assert bad == []
