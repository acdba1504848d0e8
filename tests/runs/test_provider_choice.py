"""Endpoints by the name of their provider, and the models found on their servers."""

import io

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from runs.models import Endpoint, Scope
from runs.roles import Role
from runs.selectors.endpoints.service import service_of
from runs.services.endpoints import find_models, save_endpoint
from runs.services.people.tokens import create_token
from tests.harness.factories import client_of, make_endpoint, make_person
from workers.engine.providers.known import KNOWN_PROVIDERS
from workers.simulator.testing import running_simulator

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("patient_calls"),
]

CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture(autouse=True)
def data_folder(settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path
    settings.ALLOWED_PRIVATE_ENDPOINTS = ()


@pytest.fixture
def ada():
    return make_person("ada", staff=True, role=Role.ADMIN)


@pytest.fixture
def page(ada):
    return client_of(ada)


@pytest.fixture
def asker(client, ada):
    token = create_token(ada, "script", list(Scope))
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {token.text}"
    return client


@pytest.fixture
def server(settings):
    with running_simulator(latency_ms=0) as simulator:
        settings.ALLOWED_PRIVATE_ENDPOINTS = (simulator.url.removeprefix("http://"),)
        yield simulator


def typed(**changes):
    return {"name": "main", "kind": "openai", "max_concurrent": "4", **changes}


@pytest.mark.parametrize("name", KNOWN_PROVIDERS)
def test_choosing_a_provider_fills_the_form_in(page, name):
    known = KNOWN_PROVIDERS[name]
    answer = page.get(reverse("endpoint_new"), {"provider": name})
    form = answer.context["form"]
    assert form["kind"].value() == known.kind
    assert form["base_url"].value() == known.base_url
    assert form["max_concurrent"].value() == known.max_concurrent
    assert known.title in answer.content.decode()
    offered = [place for place, _ in form.fields["private_addresses"].choices]
    assert bool(offered) is ("localhost" in known.base_url)


def test_a_provider_that_nobody_knows_fills_nothing_in(page):
    assert page.get(reverse("endpoint_new"), {"provider": "<x>"}).status_code == 200


def test_an_address_with_a_gap_is_refused(ada):
    azure = Endpoint(name="a", kind="azure", base_url=KNOWN_PROVIDERS["azure"].base_url)
    with pytest.raises(ValidationError, match="YOUR-RESOURCE"):
        save_endpoint(ada, azure)


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        ("azure", {"api_version": "2024-10-21"}, ""),
        ("azure", {"api_version": "2024-10-21-preview"}, ""),
        ("azure", {}, ""),
        ("azure", {"api_version": "latest"}, "api_version"),
        ("azure", {"api_version": "2024-10-21&x=1"}, "api_version"),
        ("azure", {"organization": "org-1"}, "Options of this kind: api_version."),
        ("openai", {"organization": "org-1", "project": "proj_1"}, ""),
        ("openai", {"organization": "org\r\nX-Evil: 1"}, "organization"),
        ("anthropic", {"organization": "org-1"}, "Options of this kind: none."),
        ("openai", ["organization"], "Options of this kind"),
    ],
)
def test_options_are_those_of_the_kind(ada, kind, options, told):
    endpoint = Endpoint(name="a", kind=kind, base_url="https://p.example/v1", options=options)
    if not told:
        assert save_endpoint(ada, endpoint).options == options
        return
    with pytest.raises(ValidationError) as refused:
        save_endpoint(ada, endpoint)
    assert told in str(refused.value.message_dict["options"])


def test_options_are_typed_on_the_page_and_kept_by_a_form_without_them(page):
    more = {"kind": "azure", "base_url": "https://r.openai.azure.com"}
    page.post(reverse("endpoint_new"), typed(option_azure_api_version="2024-10-21", **more))
    endpoint = Endpoint.objects.get()
    assert endpoint.options == {"api_version": "2024-10-21"}
    page.post(endpoint.get_absolute_url(), typed(**more))
    assert Endpoint.objects.get().options == {"api_version": "2024-10-21"}
    page.post(endpoint.get_absolute_url(), typed(option_azure_api_version="", **more))
    assert Endpoint.objects.get().options == {}
    assert "Azure OpenAI" in page.get(reverse("endpoints")).content.decode()


def test_another_version_is_another_service():
    one = Endpoint(kind="azure", base_url="https://r.openai.azure.com")
    other = Endpoint(kind="azure", base_url=one.base_url, options={"api_version": "2024-10-21"})
    assert service_of(one) != service_of(other)


def test_the_models_of_a_server_are_found_before_it_is_saved_and_ticked(page, server):
    url = f"{server.url}/v1"
    answer = page.post(
        reverse("endpoint_models_new"),
        typed(name="", base_url=url, model_names="sim-small", new_key=CANARY),
        headers={"X-Part": "models"},
    )
    part = answer.content.decode()
    assert 'value="sim-large"' in part
    assert "checked disabled" in part
    assert CANARY not in part
    assert not Endpoint.objects.exists()
    ticked = typed(base_url=url, model_names="sim-small", found_models=["sim-large", "sim-small"])
    page.post(reverse("endpoint_new"), ticked)
    assert Endpoint.objects.get().model_names == ["sim-small", "sim-large"]


def test_without_a_script_the_whole_page_comes_back(page, server):
    answer = page.post(reverse("endpoint_models_new"), typed(base_url=f"{server.url}/v1"))
    assert "<html" in answer.content.decode()
    assert 'value="sim-large"' in answer.content.decode()
    endpoint = make_endpoint()
    address = reverse("endpoint_models", args=[endpoint.pk])
    answer = page.post(address, typed(base_url=f"{server.url}/v1"))
    assert 'value="sim-large"' in answer.content.decode()


def test_a_path_is_shown_by_its_last_part(page):
    endpoint = make_endpoint()
    Endpoint.objects.update(model_names=["google/gemma-3-27b", "/models/llama.gguf"])
    shown = page.get(reverse("endpoints")).content.decode()
    assert ">gemma-3-27b</span>" in shown
    assert ">llama.gguf</span>" in shown
    assert endpoint.name in shown


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"base_url": "http://169.254.169.254/v1"}, "link-local"),
        ({"base_url": "http://10.0.0.7:8000/v1"}, "10.0.0.7:8000"),
        ({"base_url": ""}, "needs a base URL"),
        ({"kind": "nonsense", "base_url": "https://p.example"}, "Choose a kind first."),
        ({"kind": "azure", "base_url": "https://r.openai.azure.com"}, "deployments"),
    ],
)
def test_why_no_models_are_found(page, changes, told):
    answer = page.post(reverse("endpoint_models_new"), typed(**changes))
    assert told in answer.content.decode()


def test_a_stored_key_goes_to_no_new_host(ada, server):
    endpoint = Endpoint(name="main", kind="openai", base_url="https://provider.example/v1")
    saved = save_endpoint(ada, endpoint, CANARY)
    saved.base_url = f"{server.url}/v1"
    with pytest.raises(ValidationError, match="The host is new"):
        find_models(ada, saved)
    assert server.requests() == []


def test_who_may_not_allow_private_addresses_cannot_ask_them(settings):
    settings.PRIVATE_ENDPOINTS = "ask"
    operator = make_person("olga", role=Role.OPERATOR)
    url = "http://10.0.0.7:8000/v1"
    endpoint = Endpoint(name="m", kind="openai", base_url=url, private_addresses=["10.0.0.7:8000"])
    with pytest.raises(ValidationError, match="private addresses"):
        find_models(operator, endpoint)
    with pytest.raises(PermissionDenied):
        find_models(make_person("bob"), endpoint)


def test_the_api_takes_a_provider_by_name(asker):
    listed = asker.get("/api/v1/providers").json()["providers"]
    assert [one["name"] for one in listed] == list(KNOWN_PROVIDERS)
    body = {"name": "g", "provider": "groq", "max_concurrent": 3}
    made = asker.post("/api/v1/endpoints", body, content_type="application/json")
    assert made.status_code == 201
    assert made.json()["base_url"] == "https://api.groq.com/openai/v1"
    assert (made.json()["max_concurrent"], made.json()["requests_per_minute"]) == (3, 30)
    moved = asker.patch(
        "/api/v1/endpoints/g",
        {"provider": "azure", "base_url": "https://r.openai.azure.com", "options": {}},
        content_type="application/json",
    )
    assert moved.json()["kind"] == "azure"
    refused = asker.post("/api/v1/endpoints", {"name": "h"}, content_type="application/json")
    assert refused.status_code == 422
    assert "provider by name" in refused.content.decode()


def test_the_api_finds_models(asker, server):
    make_endpoint()
    Endpoint.objects.update(kind="openai", base_url=f"{server.url}/v1", name="here")
    found = asker.post("/api/v1/endpoints/here/models", {}, content_type="application/json").json()
    assert found["ok"]
    assert "sim-large" in found["models"]


def test_a_command_takes_a_provider_by_name(ada, server):
    told = io.StringIO()
    options = ["--provider", "azure", "--base-url", "https://r.openai.azure.com"]
    version = "--option=api_version=2024-10-21"
    call_command("save_endpoint", "az", *options, version, "--user", "ada", stdout=told)
    assert Endpoint.objects.get(name="az").options == {"api_version": "2024-10-21"}
    url = f"{server.url}/v1"
    options = ["--provider", "vllm", "--base-url", url, "--find-models", "--user", "ada"]
    call_command("save_endpoint", "local", *options, stdout=told)
    assert Endpoint.objects.get(name="local").max_concurrent == 64
    assert "sim-large" in told.getvalue()
    with pytest.raises(CommandError, match="NAME=VALUE"):
        call_command("save_endpoint", "az", "--option", "api_version", "--user", "ada")
