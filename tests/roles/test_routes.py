"""Every address of the site and every method it takes, read from the URL configuration; and who may
use it: written here once more by hand, so that a slip in the code shows. A new route fails the
matrix until it has its place here."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from runs.api.api import api
from runs.roles import Role
from tests.harness.factories import client_of, make_person

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


def plain(path: str) -> str:
    """Without the types of its placeholders."""
    return re.sub(r"\{\w+:(\w+)\}", r"{\1}", path)


def api_routes() -> list[Route]:
    paths = {path for namespace, path, _ in every_pattern() if namespace == API}
    routes = [
        Route(path, method, plain(f"/api/v1{path}"), view.get_view(), True)
        for router in api._get_bound_routers()
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
    ]
    assert {route.path for route in routes} == paths - {API_ROOT}, "an address beside the routes"
    return routes


def test_every_route_is_in_the_table_and_every_line_is_a_route():
    assert {str(route) for route in every_route()} == set(RULES)


METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}


class Anybody(Enum):
    """Those below the roles."""

    PUBLIC = "without an account"
    SIGNED_IN = "with any account"


class Thing(Enum):
    """What an address is about; its own or somebody else's."""

    COMMON = "everybody's"
    RUN = "a run or a part of it: a shared one may be seen"
    CACHED = "an answer that a run paid for"
    DATASET = "a dataset, prompt or configuration: a shared one may be seen"
    TOKEN = "a token or a webhook: nobody's but its owner's"


class Rule(NamedTuple):
    least: Role | Anybody
    thing: Thing = Thing.COMMON
    refusal: int = 403  # of somebody whose role does not do
    gone: bool = False  # there is nothing any more, for nobody
    changes: bool = False  # a page for those who may change the thing, also to look at
    looks: bool = False  # what is sent changes something else: a shared thing is enough


PUBLIC, SIGNED_IN = Rule(Anybody.PUBLIC), Rule(Anybody.SIGNED_IN)
VIEWER, RUNNER = Rule(Role.VIEWER), Rule(Role.RUNNER)
OPERATOR, ADMIN = Rule(Role.OPERATOR), Rule(Role.ADMIN)
SEE_RUN, CHANGE_RUN = Rule(Role.VIEWER, Thing.RUN), Rule(Role.RUNNER, Thing.RUN)
SEE_DATASET = Rule(Role.VIEWER, Thing.DATASET)
CHANGE_DATASET = Rule(Role.RUNNER, Thing.DATASET, changes=True)

BY_RULE = {
    PUBLIC: "GET healthz readyz sign_in POST sign_in",
    Rule(Role.OPERATOR, refusal=401): "GET metrics",
    Rule(Anybody.PUBLIC, gone=True): """
        GET provider_begin provider_done setup password_link invitation
        POST setup password_link invitation
    """,
    SIGNED_IN: "GET password profile POST password profile sign_out theme",
    VIEWER: """
        GET home health help help_guide jump api_docs configuration_docs runs runs_news datasets
            prompts configurations endpoints endpoints_use endpoint endpoint_use cache tokens
            alerts teams benchmarks benchmark benchmark_export /openapi.json /runs /prompts
            /datasets /providers /endpoints /endpoints/{name} /configurations /webhooks /cache
            /cache/entries /me /teams /benchmarks /benchmarks/{int:benchmark_id}
        POST run_views tokens
        PATCH /me
    """,
    OPERATOR: """
        GET system endpoint_new endpoint_remove cache_prune /cache/removals
        POST maintenance endpoint endpoint_new endpoint_pause endpoint_resume endpoint_reset
            endpoint_test endpoint_try endpoint_models endpoint_models_new endpoint_remove
            endpoint_restore cache_prune cache_restore /endpoints /endpoints/{name}/models
            /endpoints/{name}/try /endpoints/{name}/pause /endpoints/{name}/resume /cache/prune
            /cache/restore
        PATCH /endpoints/{name}
        DELETE /endpoints/{name}
    """,
    ADMIN: """
        GET people person_quota role_quota person_erase audit audit_csv audit_jsonl /audit
            /invitations
        POST retention person_add person_invite invitation_revoke person_password person_role
            person_active person_quota role_quota person_erase teams team /teams /invitations
        PUT /teams/{name}/members/{person}
        PATCH /teams/{name}
        DELETE /people/{name} /teams/{name} /teams/{name}/members/{person}
            /invitations/{int:invitation_id}
    """,
    RUNNER: """
        GET run_new runs_several prompt_new promptfoo_import dataset_import
        POST run_new run_estimate run_dry run_demo runs_several prompt_new configuration_save
            promptfoo_import dataset_import alerts /runs /runs/estimate /runs/dry /prompts
            /datasets /configurations /promptfoo /webhooks
    """,
    Rule(Role.VIEWER, Thing.TOKEN): """
        GET alert /webhooks/{int:webhook_id}/deliveries
        POST run_view_remove token_revoke
    """,
    Rule(Role.VIEWER, Thing.RUN, looks=True): """
        POST run_star
        PUT /runs/{int:run_id}/star
        DELETE /runs/{int:run_id}/star
    """,
    CHANGE_RUN: """
        GET run_collect_trials
        POST run_archive run_about run_retune run_raise run_pause run_resume run_cancel run_share
            run_retry trial_rerun run_rerun trial_override trial_collect /runs/{int:run_id}/pause
            /runs/{int:run_id}/resume /runs/{int:run_id}/cancel /runs/{int:run_id}/retry
            /runs/{int:run_id}/rerun /runs/{int:run_id}/trials/{int:position}/overrides
            /runs/{int:run_id}/trials/{int:position}/rerun
        PATCH /runs/{int:run_id} /runs/{int:run_id}/limits
        DELETE /runs/{int:run_id}
    """,
    Rule(Role.RUNNER, Thing.RUN, changes=True): "GET run_about run_share run_rerun",
    SEE_RUN: """
        GET run run_scores run_errors run_events run_configuration run_leaderboard run_pictures
            run_heatmap run_cell run_scores_csv run_scores_jsonl run_scores_parquet run_file trial
            trial_row tries_row trial_record compare compare_trials /runs/{int:run_id}
            /runs/{int:run_id}/live /runs/{int:run_id}/candidates /runs/{int:run_id}/combinations
            /runs/{int:run_id}/board /runs/{int:run_id}/scores
            /runs/{int:run_id}/agreement /runs/{int:run_id}/report /runs/{int:run_id}/samples
            /runs/{int:run_id}/events /runs/{int:run_id}/events/stream
            /runs/{int:run_id}/scores/{int:position}/record
            /runs/{int:run_id}/trials/{int:position} /compare
    """,
    Rule(Role.RUNNER, Thing.RUN, looks=True): """
        GET /runs/{int:run_id}/litellm
        POST run_collect_trials run_collect compare_collect
    """,
    SEE_DATASET: """
        GET dataset dataset_report dataset_changes dataset_csv dataset_jsonl prompt configuration
            /prompts/{path:name} /datasets/{path:name} /dataset-reports/{path:name}
            /dataset-changes/{path:name} /configurations/{path:name}
            /configuration-versions/{path:name} /configuration-trends/{path:name}
            /configuration-gates/{path:name} /configuration-schedules/{path:name}
    """,
    CHANGE_DATASET: """
        GET dataset_share prompt_edit prompt_share prompt_remove configuration_share
            configuration_remove dataset_remove dataset_erase
        POST dataset_columns dataset_split dataset_share prompt_edit prompt_share prompt_remove
            configuration_share configuration_gate configuration_baseline configuration_schedule
            configuration_schedule_change configuration_remove configuration_restore dataset_remove
            dataset_restore dataset_erase /dataset-splits/{path:name}
        PUT /configurations/{path:name} /configuration-gates/{path:name}
            /configuration-schedules/{path:name}
        PATCH /prompts/{path:name} /datasets/{path:name} /configurations/{path:name}
            /configuration-schedules/{path:name}
        DELETE /prompts/{path:name} /datasets/{path:name} /configurations/{path:name}
            /configuration-schedules/{path:name}
    """,
    Rule(Role.RUNNER, Thing.DATASET, looks=True): "POST configuration_launch",
    Rule(Role.VIEWER, Thing.CACHED): "GET cache_entry",
    Rule(Role.RUNNER, Thing.TOKEN): """
        POST alert_confirm alert_remove delivery_again /webhooks/{int:webhook_id}/confirm
            /deliveries/{int:delivery_id}/again
        DELETE /webhooks/{int:webhook_id}
    """,
}


def by_route() -> dict[str, Rule]:
    """Of each method and name; after a method stand the names that it goes with."""
    found: dict[str, Rule] = {}
    for rule, words in BY_RULE.items():
        method = ""
        for word in words.split():
            if word in METHODS:
                method = word
                continue
            assert f"{method} {word}" not in found, f"{method} {word} is there twice."
            found[f"{method} {word}"] = rule
    return found


RULES = by_route()
