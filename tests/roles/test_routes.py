"""Every address of the site and every method it takes, read from the URL configuration: each is in
the table of expectations."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from runs.api.api import api
from tests.harness.factories import client_of, make_person
from tests.roles.expectations import METHODS, RULES

pytestmark = pytest.mark.django_db

NO_METHOD = "PROPFIND"  # which nothing takes: the refusal lists what is taken
API = "api"
# Of what a path has a place for.
ANY: dict[str, Any] = defaultdict(lambda: 1, file_name="combinations.csv")
API_ROOT = "/api/v1/"  # made by the framework; nothing is there


class Route(NamedTuple):
    name: str  # `run`, or for the API the path with its placeholders
    method: str
    path: str  # with placeholders in braces
    callback: Callable[..., Any]
    is_api: bool

    @property
    def is_safe(self) -> bool:
        return self.method == "GET"

    def __str__(self) -> str:
        return f"{self.method} {self.name}"


def every_pattern() -> Iterator[tuple[str, str, URLPattern]]:
    """Namespace, path and pattern, without the admin's."""
    return walk("", "/", get_resolver())


def walk(namespace: str, path: str, resolver: URLResolver) -> Iterator[tuple[str, str, URLPattern]]:
    for one in resolver.url_patterns:
        here = path + str(one.pattern)
        if isinstance(one, URLPattern):
            yield namespace, re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", here), one
        elif one.namespace != "admin":
            yield from walk(one.namespace or namespace, here, one)


@cache
def every_route() -> tuple[Route, ...]:
    """Asked for once: no test changes which routes there are."""
    return (*page_routes(), *api_routes())


def page_routes() -> list[Route]:
    """Asked for with a method that no page takes, each tells what it takes."""
    with transaction.atomic():
        admin = client_of(make_person("asks for methods", staff=True))
        routes = [
            Route(str(pattern.name), method, path, pattern.callback, False)
            for namespace, path, pattern in every_pattern()
            if namespace != API
            for method in methods_of(admin, path)
        ]
        transaction.set_rollback(True)
    return routes


def methods_of(admin: Client, path: str) -> set[str]:
    answer = admin.generic(NO_METHOD, path.format_map(ANY))
    assert answer.status_code == 405, f"{path} takes any method: say which it takes"
    return METHODS & set(answer["Allow"].split(", "))


def api_routes() -> list[Route]:
    paths = {path for namespace, path, _ in every_pattern() if namespace == API}
    routes = [
        Route(path, method, without_types(f"/api/v1{path}"), view.get_view(), True)
        for router in api._get_bound_routers()
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
    ]
    assert {route.path for route in routes} == paths - {API_ROOT}, "an address beside the routes"
    return routes


def without_types(path: str) -> str:
    return re.sub(r"\{\w+:(\w+)\}", r"{\1}", path)


def test_every_route_is_in_the_table_and_every_line_is_a_route():
    assert {str(route) for route in every_route()} == set(RULES)
