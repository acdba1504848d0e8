"""What a person sees of others; who may open what is the role matrix of tests/roles."""

import re

import pytest
from django.urls import URLPattern, reverse

from runs import urls
from runs.models import Run, RunState, Webhook
from runs.services.configurations import save_configuration
from runs.services.prompts import save_prompt
from tests.harness.factories import (
    add_cached_reply,
    add_record,
    add_score,
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
    run_document,
)
from tests.roles.expectations import PAGES as RULES
from tests.runs.benchmark_parts import make_benchmark

pytestmark = pytest.mark.django_db

PUBLIC = {"sign_in", "setup", "password_link", "invitation", "provider_begin", "provider_done"}
ARGUMENTS = {
    "run_id": 1,
    "position": 0,
    "pk": 1,
    "token": "x",
    "key": "0" * 64,
    "role": "viewer",
    "case": 0,
    "guide": "first-run",
}
ROUTES = {str(route.name): route for route in urls.urlpatterns if isinstance(route, URLPattern)}
# Which files there are depends on the kind; a cell only leads to its trial; Parquet is no text.
NO_PAGES = PUBLIC | {"home", "run_file", "run_cell", "run_scores_parquet"}
OF_PROMPTS = {"prompt", "prompt_edit", "prompt_remove", "prompt_share"}
PAGES = [name for name in ROUTES if f"GET {name}" in RULES and name not in NO_PAGES]


def address_of(name: str, **known: object) -> str:
    wanted = ROUTES[name].pattern.converters
    return reverse(name, kwargs={key: {**ARGUMENTS, **known}[key] for key in wanted})


@pytest.fixture
def alices_run(alice):
    dataset = make_dataset(alice)
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    add_record(add_score(run, dataset.cases.get(position=0), run.candidates.get(), 0), {"at": 1})
    return run


def test_a_stranger_cannot_start_from_the_run_of_others(alices_run):
    stranger = client_of(make_person("bob"))
    assert stranger.get(reverse("run_new"), {"run": alices_run.pk}).status_code == 404


def test_the_runs_list_shows_only_ones_own(alices_run, alice):
    name = alices_run.name
    assert name not in client_of(make_person("bob")).get(reverse("runs")).content.decode()
    assert name in client_of(alice).get(reverse("runs")).content.decode()


@pytest.mark.parametrize("name", PAGES)
def test_pages_bring_no_inline_script_or_style(alices_run, name):
    endpoint = make_endpoint()
    pk = endpoint.pk if name.startswith("endpoint") else alices_run.dataset_id
    pk = make_benchmark().pk if name.startswith("benchmark") else pk
    pk = alices_run.owner_id if name.startswith("person") else pk
    pk = save_prompt(alices_run.owner, "mine", {"user": "{{q}}"}).pk if name in OF_PROMPTS else pk
    if name in {"configuration", "configuration_remove", "configuration_share"}:
        pk = save_configuration(alices_run.owner, "mine", run_document(alices_run.dataset)).pk
    add_cached_reply(alices_run, str(ARGUMENTS["key"]))
    admin = make_person("ada", staff=True)
    hook = Webhook.objects.create(owner=admin, url="https://ci.example/")
    ada = client_of(admin)
    candidate = alices_run.candidates.get().pk
    known = {"run_id": alices_run.pk, "candidate": candidate, "webhook_id": hook.pk}
    address = address_of(name, pk=pk, **known)
    answer = ada.get(address, {"of": f"{alices_run.pk}-0"} if name == "compare_trials" else {})
    assert answer.status_code == 200
    page = answer.getvalue().decode()
    scripts = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", page)
    assert [tag for tag in scripts if 'type="application/json"' not in tag] == []
    assert not re.search(r"""\sstyle=|<style|\son[a-z]+\s*=\s*["']|javascript:""", page)


def test_an_owner_cancels_a_run(alice, alices_run):
    answer = client_of(alice).post(reverse("run_cancel", args=[alices_run.pk]))
    assert answer["Location"] == alices_run.get_absolute_url()
    found = Run.objects.get(pk=alices_run.pk)
    assert (found.state, found.reason) == (RunState.CANCELLED, "Cancelled by alice.")
