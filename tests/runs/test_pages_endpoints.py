"""Endpoints: a key goes in and never comes out, and a test tells how the connection is."""

import re
from html import unescape

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import CommandError, call_command
from django.test import RequestFactory
from django.urls import reverse

from runs.forms.endpoints import EndpointForm
from runs.models import Endpoint
from runs.roles import Role
from runs.selectors.endpoints.service import service_of
from runs.services.endpoints import find_models, save_endpoint
from runs.views.endpoints import new_form, try_to_save
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_endpoint, make_person, make_run
from tests.harness.table import table
from tests.runs.conftest import said_by
from tests.toy_things import Parrot
from workers.engine.providers import PROVIDERS, model_list_of
from workers.engine.providers.known import KNOWN_PROVIDERS
from workers.simulator.testing import running_simulator

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_folder", "patient_calls")]

CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture
def staff(ada):
    return client_of(ada)


def fields(**changes):
    return {
        "name": "main",
        "kind": "openai",
        "base_url": "https://provider.example/v1",
        "model_names": "model-a\nmodel-b\n",
        "max_concurrent": "20",
        "requests_per_minute": "",
        **changes,
    }


def test_the_key_of_a_new_endpoint_is_on_no_page_and_stays_when_none_is_typed(staff):
    refused = staff.post(reverse("endpoint_new"), fields(name="Bad Name", new_key=CANARY))
    assert (refused.status_code, CANARY in refused.text) == (400, False)
    assert "Type the key again" in refused.text
    assert "Type the key again" not in staff.post(reverse("endpoint_new"), fields(name="B")).text
    answer = staff.post(reverse("endpoint_new"), fields(new_key=CANARY))
    endpoint = Endpoint.objects.get()
    assert answer["Location"] == endpoint.get_absolute_url()
    assert endpoint.has_key
    assert endpoint.model_names == ["model-a", "model-b"]
    for address in (reverse("endpoints"), endpoint.get_absolute_url(), reverse("run_new")):
        page = staff.get(address).text
        assert CANARY not in page
        assert endpoint.key_ciphertext not in page
        if address == endpoint.get_absolute_url():
            assert "…cdef" in page
    staff.post(endpoint.get_absolute_url(), fields(max_concurrent="5"))
    after = Endpoint.objects.get()
    assert (after.key_ciphertext, after.max_concurrent) == (endpoint.key_ciphertext, 5)


WRONG = [
    ("new_key", "with space", ""),
    ("prices", "model-a 2.50", "Line 1: write the model"),
    ("prices", "\nmodel-a x 1", "Line 2: the input price 'x' is not"),
    ("prices", "a 1 1\na 2 2", "Line 2: a has a price already"),
    ("prices", "a 1 -1", "output price of 'a' must be a number from 0"),
    ("prices", "a nan 1", "input price of 'a' must be a number from 0"),
    ("new_headers", "no colon here", ""),
    ("new_headers", "Host: evil.example", ""),
    ("new_headers", "Proxy-Authorization: x", ""),
    ("new_headers", "Bad Name: x", ""),
    ("new_headers", "X`id`: x", ""),
    ("new_headers", "X$(id): x", ""),
    ("new_headers", "X-A: ä", ""),
    ("new_proxy", "proxy.example", ""),
    ("new_proxy", "http://169.254.169.254:3128", ""),
    ("new_proxy", "http://proxy.example:25", ""),
    ("ca_bundle", "no certificate", ""),
    ("more_urls", "http://127.0.0.1:9999", "127.0.0.1:9999 is at a private"),
]


def test_what_is_wrong_is_said_at_the_field(staff, ada, rf):
    request = rf.post("/")
    request.user = ada
    for field, typed, message in WRONG:
        form = EndpointForm(fields(**{field: typed}))
        if form.is_valid():
            try_to_save(request, form)
        assert field in form.errors, typed
        assert message in " ".join(map(str, form.errors[field])), typed
    answer = staff.post(reverse("endpoint_new"), fields(**{field: typed}))
    assert answer.status_code == 400
    assert message in unescape(answer.text)
    assert not Endpoint.objects.exists()


def test_a_connection_test_shows_its_report_and_warns_of_unlisted_models(staff, settings, endpoint):
    address = reverse("endpoint_test", args=[endpoint.pk])
    with running_simulator(latency_ms=0) as simulator:
        settings.SIMULATOR_URL = simulator.url
        for part in ({}, {"X-Part": "report"}):
            page = staff.post(address, headers=part).text
            assert "It works" in page
            assert "sim-large" in page
            assert ("<html" in page) is (not part)
        Endpoint.objects.update(model_names=["sim-small", "sim-smal"])
        page = staff.post(address).text
    assert "The server answers, but it does not list the model sim-smal." in page
    assert ("notice-warning" in page, "It works" in page) == (True, False)
    assert "sim-large" in page  # what it lists


def opened(client, endpoint):
    """The page as somebody opens it, with what its form would send."""
    return client.get(endpoint.get_absolute_url()).context["form"]["opened"].value()


def test_a_second_tab_does_not_undo_a_change_without_a_word(staff):
    staff.post(reverse("endpoint_new"), fields())
    endpoint = Endpoint.objects.get()
    first = second = opened(staff, endpoint)
    olga = client_of(make_person("olga", role=Role.OPERATOR))
    olga.post(endpoint.get_absolute_url(), fields(max_concurrent="50", opened=first))
    typed = fields(max_concurrent="5", model_names="model-a", opened=second)
    answer = staff.post(endpoint.get_absolute_url(), typed)
    page = answer.text
    assert answer.status_code == 409
    assert "Nothing was saved: olga changed main" in page
    moment = r"after you opened this page\.</b> <span class=\"muted\"><time "
    assert re.search(moment, page)  # when it was changed
    shown = {one.label: (one.stored, one.typed) for one in answer.context["differences"]}
    assert shown["Calls at once"] == ("50", "5")
    assert shown["Models"] == ("model-a\nmodel-b", "model-a")
    assert Endpoint.objects.get().max_concurrent == 50
    again = answer.context["form"]["opened"].value()
    assert f'value="{again}"' in page
    assert 'value="5"' in page  # what was typed is kept
    staff.post(endpoint.get_absolute_url(), {**typed, "opened": again})
    stored = Endpoint.objects.get()
    assert (stored.max_concurrent, stored.model_names) == (5, ["model-a"])
    assert str(stored.updated_by) == "ada"
    again = staff.post(endpoint.get_absolute_url(), {**typed, "opened": again}, follow=True)
    assert "main has these settings already." in again.text  # the same is no conflict
    refused = staff.post(endpoint.get_absolute_url(), fields(new_key=CANARY, opened=first))
    page = refused.text
    assert refused.status_code == 409
    assert "Enter the key once more" in page  # it is neither stored nor sent back
    assert CANARY not in page
    assert not Endpoint.objects.get().has_key


def test_prices_and_servers_are_typed_a_line_each_and_shown_as_typed(staff, bob):
    typed = {"prices": "model-a 2.50 10\n\nllama 3 8b  $0.05  0\n"}
    staff.post(
        reverse("endpoint_new"),
        fields(kind="ollama", more_urls="https://b.example\nhttps://c.example", **typed),
    )
    endpoint = Endpoint.objects.get()
    assert endpoint.more_urls == ["https://b.example", "https://c.example"]
    assert endpoint.prices == {
        "model-a": {"input": 2.5, "output": 10.0},
        "llama 3 8b": {"input": 0.05, "output": 0.0},
    }
    assert "model-a 2.5 10\nllama 3 8b 0.05 0" in staff.get(endpoint.get_absolute_url()).text
    assert "+2 servers" in staff.get(reverse("endpoints")).text
    assert "$2.50 in, $10.00 out" in client_of(bob).get(endpoint.get_absolute_url()).text


# --- By the name of a provider, with the models found there, and one that only answers


def typed(**changes):
    return {"name": "main", "kind": "openai", "max_concurrent": "4", **changes}


def test_choosing_a_provider_fills_the_form_in_which_says_why_no_models_are_found(staff):
    for known in KNOWN_PROVIDERS.values():
        form = new_form(RequestFactory().get(reverse("endpoint_new")), known)
        for field in ("kind", "base_url", "max_concurrent"):
            assert form[field].value() == getattr(known, field)
        offered = [choice.data["value"] for choice in form["private_addresses"]]
        assert bool(offered) is ("localhost" in known.base_url)
    answer = staff.get(reverse("endpoint_new"), {"provider": "azure"})
    assert answer.context["form"]["kind"].value() == "azure"
    titles = [known.title for known in KNOWN_PROVIDERS.values()]
    assert [title for title in titles if title not in answer.text] == []
    assert staff.get(reverse("endpoint_new"), {"provider": "<x>"}).status_code == 200
    for changes, told in (
        ({"base_url": "http://169.254.169.254/v1"}, "link-local"),
        ({"base_url": "http://10.0.0.7:8000/v1"}, "10.0.0.7:8000"),
        ({"base_url": ""}, "needs a base URL"),
        ({"kind": "nonsense", "base_url": "https://p.example"}, "Choose a kind first."),
        ({"kind": "azure", "base_url": "https://r.openai.azure.com"}, "deployments"),
    ):
        assert told in staff.post(reverse("endpoint_models_new"), typed(**changes)).text


@table(
    ("azure", {"api_version": "2024-10-21"}, ""),
    ("azure", {"api_version": "2024-10-21-preview"}, ""),
    ("azure", {"api_version": "latest"}, "api_version"),
    ("azure", {"api_version": "2024-10-21&x=1"}, "api_version"),
    ("azure", {"organization": "org-1"}, "Options of this kind: api_version."),
    ("openai", {"organization": "org-1", "project": "proj_1"}, ""),
    ("openai", {"organization": "org\r\nX-Evil: 1"}, "organization"),
    ("anthropic", {"organization": "org-1"}, "Options of this kind: none."),
    ("openai", ["organization"], "Options of this kind"),
    ("app", {"path": "/ask", "body": "{{prompt}}", "answer": "text"}, "must be JSON"),
    ("app", {"path": "/ask", "body": '{"ask": "{{prompt}}"}', "answer": "results[0].text"}, ""),
)
def test_options_are_those_of_the_kind(ada, kind, options, told):
    url = "https://p.example/v1"
    endpoint = Endpoint(name="main", kind=kind, base_url=url, options=options)
    if told:
        with pytest.raises(ValidationError) as refused:
            save_endpoint(ada, endpoint)
        assert told in str(refused.value.message_dict["options"])
    else:
        assert save_endpoint(ada, endpoint).options == options
        endpoint.delete()


def test_options_are_typed_and_kept_by_a_form_without_them_and_make_another_service(ada, staff):
    one = Endpoint(kind="azure", base_url="https://r.openai.azure.com")
    other = Endpoint(kind="azure", base_url=one.base_url, options={"api_version": "2024-10-21"})
    assert service_of(one) != service_of(other), "another version is another service"
    azure = Endpoint(name="a", kind="azure", base_url=KNOWN_PROVIDERS["azure"].base_url)
    with pytest.raises(ValidationError, match="YOUR-RESOURCE"):
        save_endpoint(ada, azure)
    more = {"kind": "azure", "base_url": "https://r.openai.azure.com"}
    staff.post(reverse("endpoint_new"), typed(option_azure_api_version="2024-10-21", **more))
    endpoint = Endpoint.objects.get()
    assert endpoint.options == {"api_version": "2024-10-21"}
    staff.post(endpoint.get_absolute_url(), typed(**more))
    assert Endpoint.objects.get().options == {"api_version": "2024-10-21"}
    staff.post(endpoint.get_absolute_url(), typed(option_azure_api_version="", **more))
    assert Endpoint.objects.get().options == {}
    assert "Azure OpenAI" in staff.get(reverse("endpoints")).text


def test_models_of_a_server_are_found_before_it_is_saved_and_ticked(staff, simulator):
    url = f"{simulator.url}/v1"
    sent = typed(name="", base_url=url, model_names="sim-small", new_key=CANARY)
    part = staff.post(reverse("endpoint_models_new"), sent, headers={"X-Part": "models"}).text
    assert 'value="sim-large"' in part
    assert ("checked disabled" in part, CANARY in part) == (True, False)
    assert not Endpoint.objects.exists()
    ticked = typed(base_url=url, model_names="sim-small", found_models=["sim-large", "sim-small"])
    staff.post(reverse("endpoint_new"), ticked)
    assert Endpoint.objects.get().model_names == ["sim-small", "sim-large"]
    endpoint = make_endpoint()
    for name, args in (("endpoint_models_new", []), ("endpoint_models", [endpoint.pk])):
        shown = staff.post(reverse(name, args=args), typed(base_url=url)).text
        assert "<html" in shown
        assert 'value="sim-large"' in shown
    Endpoint.objects.update(model_names=["google/gemma-3-27b", "/models/llama.gguf"])
    shown = staff.get(reverse("endpoints")).text
    for part in (">gemma-3-27b</span>", ">llama.gguf</span>", endpoint.name):
        assert part in shown, "a path is shown by its last part"


def test_a_stored_key_goes_to_no_new_host_and_no_private_ones(ada, bob, simulator, settings):
    endpoint = Endpoint(name="main", kind="openai", base_url="https://provider.example/v1")
    saved = save_endpoint(ada, endpoint, CANARY)
    saved.base_url = f"{simulator.url}/v1"
    with pytest.raises(ValidationError, match="The host is new"):
        find_models(ada, saved)
    assert simulator.requests() == []
    settings.PRIVATE_ENDPOINTS = "ask"
    operator = make_person("olga", role=Role.OPERATOR)
    url = "http://10.0.0.7:8000/v1"
    endpoint = Endpoint(name="m", kind="openai", base_url=url, private_addresses=["10.0.0.7:8000"])
    with pytest.raises(ValidationError, match="private addresses"):
        find_models(operator, endpoint)
    with pytest.raises(PermissionDenied):
        find_models(bob, endpoint)


def test_api_and_command_take_a_provider_by_name_and_find_models(ada, simulator):
    asker = Asker(ada)
    listed = asker.get("/providers").json()["providers"]
    assert [one["name"] for one in listed] == list(KNOWN_PROVIDERS)
    made = asker.post("/endpoints", {"name": "g", "provider": "groq", "max_concurrent": 3})
    assert made.status_code == 201
    assert made.json()["base_url"] == "https://api.groq.com/openai/v1"
    assert (made.json()["max_concurrent"], made.json()["requests_per_minute"]) == (3, 30)
    azure = {"provider": "azure", "base_url": "https://r.openai.azure.com", "options": {}}
    assert asker.patch("/endpoints/g", azure).json()["kind"] == "azure"
    refused = asker.post("/endpoints", {"name": "h"})
    assert (refused.status_code, "provider by name" in refused.text) == (422, True)
    Endpoint.objects.update(kind="openai", base_url=f"{simulator.url}/v1")
    found = asker.post("/endpoints/g/models", {}).json()
    assert found["ok"]
    assert "sim-large" in found["models"]
    options = ["--provider", "azure", "--base-url", "https://r.openai.azure.com"]
    version = "--option=api_version=2024-10-21"
    call_command("save_endpoint", "az", *options, version, "--user", "ada")
    assert Endpoint.objects.get(name="az").options == {"api_version": "2024-10-21"}
    url = f"{simulator.url}/v1"
    options = ["--provider", "vllm", "--base-url", url, "--find-models", "--user", "ada"]
    told = said_by("save_endpoint", "local", *options)
    assert Endpoint.objects.get(name="local").max_concurrent == 64
    assert "sim-large" in told
    with pytest.raises(CommandError, match="NAME=VALUE"):
        call_command("save_endpoint", "az", "--option", "api_version", "--user", "ada")


# --- A provider that only answers: what it does not tell is unknown on every page, never 0


def test_finding_its_models_says_that_it_cannot(patch):
    patch.setitem(PROVIDERS, "parrot", Parrot)
    endpoint = Endpoint.objects.create(
        name="parrot", kind="parrot", base_url="https://parrot.example", model_names=["polly"]
    )
    assert model_list_of("parrot") is None
    operator = client_of(make_person("otto", role=Role.OPERATOR))
    text = operator.post(reverse("endpoint_test", args=[endpoint.pk])).text
    assert "It cannot be asked" in text
    assert "Enter the names of its models yourself." in text
    assert "It does not work" not in text


def test_tokens_that_nobody_counted_are_unknown_on_the_leaderboard(alice, dataset):
    run = make_run(alice, dataset)
    run.candidates.update(done=3, scored=3, value_sum=3, value_square_sum=3)
    (row,) = Asker(alice).get(f"/runs/{run.pk}/candidates").json()["data"]
    assert (row["tokens_in"], row["tokens_out"]) == (None, None)
    assert "0 / 0" not in client_of(alice).get(run.get_absolute_url()).text
