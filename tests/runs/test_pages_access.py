"""Who may open what: nobody without an account, strangers nothing of each other."""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from runs import urls
from runs.models import Endpoint, Run, RunState
from tests.runs.benchmark_parts import make_benchmark
from tests.runs.page_parts import (
    add_cached_reply,
    add_score,
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
)

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

PUBLIC = {"sign_in", "setup"}
ARGUMENTS = {"run_id": 1, "position": 0, "pk": 1, "token": "x", "key": "0" * 64}
ROUTES = {str(route.name): route for route in urls.urlpatterns if isinstance(route, URLPattern)}
RUN_ROUTES = [name for name, route in ROUTES.items() if "run_id" in route.pattern.converters]
POST_ONLY = [
    "sign_out",
    "theme",
    "run_demo",
    "run_estimate",
    "run_cancel",
    "run_pause",
    "run_resume",
    "run_retry",
    "trial_rerun",
    "endpoint_test",
    "run_retune",
    "endpoint_pause",
    "endpoint_resume",
    "endpoint_reset",
    "token_revoke",
]
PAGES = [name for name in ROUTES if name not in {*POST_ONLY, *PUBLIC, "home"}]


def address_of(name: str, **known: object) -> str:
    wanted = ROUTES[name].pattern.converters
    return reverse(name, kwargs={key: {**ARGUMENTS, **known}[key] for key in wanted})


@pytest.fixture
def alice():
    return make_person("alice")


@pytest.fixture
def alices_run(alice):
    dataset = make_dataset(alice)
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    add_score(run, dataset.cases.get(position=0), run.candidates.get(), 0)
    return run


@pytest.mark.parametrize("name", sorted(set(ROUTES) - PUBLIC))
@pytest.mark.parametrize("method", ["get", "post"])
def test_without_an_account_every_address_leads_to_the_sign_in(client, name, method):
    answer = getattr(client, method)(address_of(name))
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("sign_in"))


@pytest.mark.parametrize("name", RUN_ROUTES)
def test_a_stranger_finds_no_run_of_others(alices_run, name):
    method = "post" if name in POST_ONLY else "get"
    stranger = client_of(make_person("bob"))
    assert getattr(stranger, method)(address_of(name, run_id=alices_run.pk)).status_code == 404
    assert Run.objects.get(pk=alices_run.pk).state == RunState.RUNNING


def test_a_stranger_cannot_start_from_the_run_of_others(alices_run):
    stranger = client_of(make_person("bob"))
    assert stranger.get(reverse("run_new"), {"run": alices_run.pk}).status_code == 404


def test_the_runs_list_shows_only_ones_own(alices_run, alice):
    name = alices_run.name
    assert name not in client_of(make_person("bob")).get(reverse("runs")).content.decode()
    assert name in client_of(alice).get(reverse("runs")).content.decode()


@pytest.mark.parametrize("name", POST_ONLY)
def test_what_changes_something_cannot_be_asked_for_by_a_link(alice, alices_run, name):
    make_endpoint()
    known = {"run_id": alices_run.pk, "pk": Endpoint.objects.get().pk}
    assert client_of(alice).get(address_of(name, **known)).status_code == 405


@pytest.mark.parametrize("name", POST_ONLY)
def test_a_post_without_the_token_of_its_form_is_refused(alice, alices_run, name):
    make_endpoint()
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    known = {"run_id": alices_run.pk, "pk": Endpoint.objects.get().pk}
    assert client.post(address_of(name, **known)).status_code == 403
    assert Run.objects.get(pk=alices_run.pk).state == RunState.RUNNING


def test_only_staff_change_endpoints(alice):
    endpoint = make_endpoint()
    person, changed = client_of(alice), {"name": "mine", "kind": "simulated", "max_concurrent": 9}
    assert person.get(endpoint.get_absolute_url()).status_code == 200
    assert person.get(reverse("endpoint_new")).status_code == 403
    assert person.post(reverse("endpoint_new"), changed).status_code == 403
    assert person.post(endpoint.get_absolute_url(), changed).status_code == 403
    assert person.post(reverse("endpoint_test", args=[endpoint.pk])).status_code == 403
    assert [stored.name for stored in Endpoint.objects.all()] == ["simulated"]


@pytest.mark.parametrize("name", PAGES)
def test_pages_bring_no_inline_script_or_style(alices_run, name):
    endpoint = make_endpoint()
    pk = endpoint.pk if name.startswith("endpoint") else alices_run.dataset_id
    pk = make_benchmark().pk if name.startswith("benchmark") else pk
    add_cached_reply(alices_run, str(ARGUMENTS["key"]))
    ada = client_of(make_person("ada", staff=True))
    answer = ada.get(address_of(name, run_id=alices_run.pk, pk=pk))
    assert answer.status_code == 200
    page = answer.content.decode()
    scripts = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", page)
    assert [tag for tag in scripts if 'type="application/json"' not in tag] == []
    assert not re.search(r"""\sstyle=|<style|\son[a-z]+\s*=\s*["']|javascript:""", page)


def test_an_owner_cancels_a_run(alice, alices_run):
    answer = client_of(alice).post(reverse("run_cancel", args=[alices_run.pk]))
    assert answer["Location"] == alices_run.get_absolute_url()
    assert Run.objects.get(pk=alices_run.pk).state == RunState.CANCELLED
