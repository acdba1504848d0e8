"""Every address of the site and every method it takes, read from the URL configuration."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from runs.api.api import api

NO_METHOD = "PROPFIND"  # which nothing takes: the refusal lists what is taken
API = "api"
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


def page_routes(admin: Client, arguments: dict[str, Any]) -> list[Route]:
    """Asked for with a method that no page takes, each tells what it takes."""
    return [
        Route(str(pattern.name), method, path, pattern.callback, False)
        for namespace, path, pattern in every_pattern()
        if namespace != API
        for method in methods_of(admin, path, arguments)
    ]


def methods_of(admin: Client, path: str, arguments: dict[str, Any]) -> list[str]:
    answer = admin.generic(NO_METHOD, path.format(**arguments))
    assert answer.status_code == 405, f"{path} takes any method: say which it takes"
    return [method for method in answer["Allow"].split(", ") if method not in {"HEAD", "OPTIONS"}]


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
