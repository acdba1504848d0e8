"""Puts the groups of routes together, and writes the OpenAPI document from them."""

import functools
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI
from ninja.errors import ValidationError, ValidationErrorContext
from ninja.openapi.schema import OpenAPISchema
from ninja.renderers import BaseRenderer

from runs import __version__
from runs.api.bodies import JsonParser
from runs.api.doors import needs
from runs.api.openapi import finish
from runs.api.pages import answer, json_text
from runs.api.problems import answer_with_problems, of_problems
from runs.api.router import Routes
from runs.api.routes import (
    agreement,
    audit,
    benchmarks,
    cache,
    compare,
    configurations,
    control,
    dataset_reports,
    datasets,
    dry_runs,
    endpoints,
    gates,
    invitations,
    me,
    overrides,
    people,
    promptfoo,
    prompts,
    rerunning,
    results,
    run_reports,
    runs,
    schedules,
    scores,
    stars,
    streams,
    teams,
    trends,
    webhooks,
)
from runs.kinds import every_kind
from runs.models import Scope
from runs.permissions import requires
from runs.roles import Permission
from workers.engine.errors import Problem
from workers.engine.spec.problems import explain

GROUPS = (
    runs,
    dry_runs,
    stars,
    control,
    overrides,
    rerunning,
    results,
    scores,
    agreement,
    run_reports,
    streams,
    compare,
    datasets,
    dataset_reports,
    prompts,
    endpoints,
    configurations,
    trends,
    gates,
    schedules,
    promptfoo,
    cache,
    benchmarks,
    webhooks,
    audit,
    me,
    people,
    teams,
    invitations,
)
ABOUT = """Start and watch runs from scripts, notebooks and CI.

Send `Authorization: Bearer TOKEN`; make a token on the page Tokens or with
`manage.py create_token NAME`. Errors are RFC 9457 problem JSON. Lists are
`{data, next_cursor, as_of}`. Unknown fields and parameters are refused."""


about = Routes(tags=["About"])


class JsonRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return json_text(data)


class Api(NinjaAPI):
    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        """Our own words for what pydantic found, at the place where the person wrote it."""
        problems = [
            Problem(written_path(problem.path, context.model), problem.message)
            for context in error_contexts
            for problem in explain(context.pydantic_validation_error, context.model)
        ]
        raise of_problems(problems)

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        document = super().get_openapi_schema(**options)
        finish(document)
        return document


def written_path(path: str, model: Any) -> str:
    """Without the name of the argument that our function happens to have for it."""
    if model.__ninja_param_source__ == "body" or "." in path:
        return path.partition(".")[2]
    return path


def make_api() -> Api:
    made = Api(
        title="evalsite",
        version=__version__,
        description=ABOUT,
        urls_namespace="api",
        docs_url=None,
        openapi_url=None,
        parser=JsonParser(),
        renderer=JsonRenderer(),
    )
    answer_with_problems(made)
    own = (router for kind in every_kind() for router in kind.routers())
    for routes in (*(group.routes for group in GROUPS), *own, about):
        made.add_router("", routes)
    return made


api = make_api()


@functools.cache
def openapi_document() -> OpenAPISchema:
    """The routes do not change while the process runs."""
    return api.get_openapi_schema()


@about.get("/openapi.json", auth=needs(Scope.READ), response=dict[str, Any], summary="This API")
def openapi(request: HttpRequest) -> HttpResponse:
    """The OpenAPI 3.1 document."""
    return answer(openapi_document())


def urls() -> tuple[list[URLPattern | URLResolver], str, str]:
    """Without the site's sign-in page: the doors of the routes answer 401 themselves, and no
    route can be written without one."""
    patterns, app, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            requires(Permission.PUBLIC)(pattern.callback)
    return patterns, app, namespace
