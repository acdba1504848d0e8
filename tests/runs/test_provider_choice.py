"""Endpoints by the name of their provider, the models found there, and one that only answers."""

import io

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import CommandError, call_command
from django.test import RequestFactory
from django.urls import reverse

from runs.models import Dataset, Endpoint
from runs.roles import Role
from runs.selectors.endpoints.service import service_of
from runs.services.endpoints import find_models, save_endpoint
from runs.views.endpoints import new_form
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_person, make_run, run_document
from tests.harness.table import table
from tests.toy_things import Parrot
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.prices import Price
from workers.engine.here import run_here
from workers.engine.kinds import read_configuration
from workers.engine.providers import PROVIDERS, model_list_of
from workers.engine.providers.known import KNOWN_PROVIDERS
from workers.engine.records import Case

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("patient_calls", "data_folder")]

CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture
def page(ada):
    return client_of(ada)


def typed(**changes):
    return {"name": "main", "kind": "openai", "max_concurrent": "4", **changes}


def test_choosing_a_provider_fills_the_form_in(page):
    for known in KNOWN_PROVIDERS.values():
        form = new_form(RequestFactory().get(reverse("endpoint_new")), known)
        for field in ("kind", "base_url", "max_concurrent"):
            assert form[field].value() == getattr(known, field)
        offered = [choice.data["value"] for choice in form["private_addresses"]]
        assert bool(offered) is ("localhost" in known.base_url)
    answer = page.get(reverse("endpoint_new"), {"provider": "azure"})
    assert answer.context["form"]["kind"].value() == "azure"
    titles = [known.title for known in KNOWN_PROVIDERS.values()]
    assert [title for title in titles if title not in answer.text] == []
    assert page.get(reverse("endpoint_new"), {"provider": "<x>"}).status_code == 200


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


def test_another_version_is_another_service_and_an_address_with_a_gap_is_refused(ada):
    one = Endpoint(kind="azure", base_url="https://r.openai.azure.com")
    other = Endpoint(kind="azure", base_url=one.base_url, options={"api_version": "2024-10-21"})
    assert service_of(one) != service_of(other), "another version is another service"
    azure = Endpoint(name="a", kind="azure", base_url=KNOWN_PROVIDERS["azure"].base_url)
    with pytest.raises(ValidationError, match="YOUR-RESOURCE"):
        save_endpoint(ada, azure)


def test_options_are_typed_on_the_page_and_kept_by_a_form_without_them(page):
    more = {"kind": "azure", "base_url": "https://r.openai.azure.com"}
    page.post(reverse("endpoint_new"), typed(option_azure_api_version="2024-10-21", **more))
    endpoint = Endpoint.objects.get()
    assert endpoint.options == {"api_version": "2024-10-21"}
    page.post(endpoint.get_absolute_url(), typed(**more))
    assert Endpoint.objects.get().options == {"api_version": "2024-10-21"}
    page.post(endpoint.get_absolute_url(), typed(option_azure_api_version="", **more))
    assert Endpoint.objects.get().options == {}
    assert "Azure OpenAI" in page.get(reverse("endpoints")).text


def test_the_models_of_a_server_are_found_before_it_is_saved_and_ticked(page, simulator):
    url = f"{simulator.url}/v1"
    sent = typed(name="", base_url=url, model_names="sim-small", new_key=CANARY)
    part = page.post(reverse("endpoint_models_new"), sent, headers={"X-Part": "models"}).text
    assert 'value="sim-large"' in part
    assert "checked disabled" in part
    assert CANARY not in part
    assert not Endpoint.objects.exists()
    ticked = typed(base_url=url, model_names="sim-small", found_models=["sim-large", "sim-small"])
    page.post(reverse("endpoint_new"), ticked)
    assert Endpoint.objects.get().model_names == ["sim-small", "sim-large"]


def test_without_a_script_the_whole_page_comes_back(page, simulator, endpoint):
    url = f"{simulator.url}/v1"
    for name, args in (("endpoint_models_new", []), ("endpoint_models", [endpoint.pk])):
        shown = page.post(reverse(name, args=args), typed(base_url=url)).text
        assert "<html" in shown
        assert 'value="sim-large"' in shown
    Endpoint.objects.update(model_names=["google/gemma-3-27b", "/models/llama.gguf"])
    shown = page.get(reverse("endpoints")).text
    for part in (">gemma-3-27b</span>", ">llama.gguf</span>", endpoint.name):
        assert part in shown, "a path is shown by its last part"


def test_why_no_models_are_found(page):
    for changes, told in (
        ({"base_url": "http://169.254.169.254/v1"}, "link-local"),
        ({"base_url": "http://10.0.0.7:8000/v1"}, "10.0.0.7:8000"),
        ({"base_url": ""}, "needs a base URL"),
        ({"kind": "nonsense", "base_url": "https://p.example"}, "Choose a kind first."),
        ({"kind": "azure", "base_url": "https://r.openai.azure.com"}, "deployments"),
    ):
        answer = page.post(reverse("endpoint_models_new"), typed(**changes))
        assert told in answer.text


def test_a_stored_key_goes_to_no_new_host_and_nobody_asks_private_ones(
    ada, bob, simulator, settings
):
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


def test_the_api_takes_a_provider_by_name_and_finds_models(ada, simulator):
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
    assert refused.status_code == 422
    assert "provider by name" in refused.text
    Endpoint.objects.update(kind="openai", base_url=f"{simulator.url}/v1")
    found = asker.post("/endpoints/g/models", {}).json()
    assert found["ok"]
    assert "sim-large" in found["models"]


def test_a_command_takes_a_provider_by_name(ada, simulator):
    told = io.StringIO()
    options = ["--provider", "azure", "--base-url", "https://r.openai.azure.com"]
    version = "--option=api_version=2024-10-21"
    call_command("save_endpoint", "az", *options, version, "--user", "ada", stdout=told)
    assert Endpoint.objects.get(name="az").options == {"api_version": "2024-10-21"}
    url = f"{simulator.url}/v1"
    options = ["--provider", "vllm", "--base-url", url, "--find-models", "--user", "ada"]
    call_command("save_endpoint", "local", *options, stdout=told)
    assert Endpoint.objects.get(name="local").max_concurrent == 64
    assert "sim-large" in told.getvalue()
    with pytest.raises(CommandError, match="NAME=VALUE"):
        call_command("save_endpoint", "az", "--option", "api_version", "--user", "ada")


# --- A provider that only answers: what it does not tell is unknown on every page, never 0

CASES = [Case(place, {"question": f"{place} + 1", "expected": "1 + 1"}) for place in range(3)]


async def test_a_run_with_one_that_only_answers_has_scores_and_no_price():
    document = run_document(Dataset(name="sums", version=1), models=["parrot/polly"])
    configuration, cache = read_configuration(document), MemoryCache()
    prices = {("parrot", "polly"): Price(1.0, 2.0)}  # for tokens, which nobody counted
    for is_cached in (False, True):
        scores = await run_here(
            configuration, CASES, {"parrot": Parrot()}, cache=cache, prices=prices
        )
        assert [score.value for score in scores] == [0.0, 1.0, 0.0]
        assert {(score.tokens_in, score.tokens_out) for score in scores} == {(None, None)}
        assert {score.full_cost for score in scores} == {None}
        assert {score.cached for score in scores} == {is_cached}
    assert sum(score.unpriced for score in scores) == 0  # nothing was bought the second time


def test_finding_its_models_says_that_it_cannot(monkeypatch):
    monkeypatch.setitem(PROVIDERS, "parrot", Parrot)
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
