"""Providers with addresses or forms of their own, and all that are known by name."""

import json

import pytest
from pydantic import ValidationError

from tests.harness.table import row, table
from workers.engine.calling.embeddings import EMBEDDINGS_PATH
from workers.engine.errors import MalformedAnswer, Refused
from workers.engine.kinds.select.litellm import (
    ChosenModel,
    Server,
    key_name,
    litellm_config,
    models_of,
)
from workers.engine.providers import PROVIDERS, Manner
from workers.engine.providers.addresses import AddressPolicy, check_url, place_of
from workers.engine.providers.app import App, AppOptions, text_at
from workers.engine.providers.azure import Azure
from workers.engine.providers.known import KNOWN_PROVIDERS, TO_COMPLETE, known_provider_at
from workers.engine.providers.model_lists import openai_names
from workers.engine.records import Request

KEY = "canary-0123456789abcdef"
VERSION = {"api_version": "2024-10-21"}


def ask(model="sim-large"):
    body = {"model": model, "messages": [{"role": "user", "content": "What is 17 + 25?"}]}
    return Request("main", model, "/chat/completions", body)


def azure(client, simulator, options, key=KEY):
    return PROVIDERS["azure"](client, "azure", simulator.url, key, None, Manner(options=options))


DEPLOYED = "/openai/deployments/my%20gpt%2F4/chat/completions?api-version=2024-10-21"


async def test_both_forms_of_azure_answer_as_openai_and_read_their_key(client, simulator):
    usual = await PROVIDERS["openai"](client, "openai", f"{simulator.url}/v1", KEY).send(ask())
    for options, path in ((VERSION, DEPLOYED), ({}, "/openai/v1/chat/completions")):
        assert Azure.written(ask("my gpt/4"), options).path == path
        assert (await azure(client, simulator, options).send(ask())).text == usual.text
    with pytest.raises(Refused, match="404"):
        await azure(client, simulator, VERSION).send(ask("no-such-deployment"))
    simulator.reset()
    for key in ("", "one", "two"):
        await azure(client, simulator, VERSION, key).send(ask())
    assert len({row["key"] for row in simulator.requests()}) == 3


QUESTION = "What is 17 + 25?"
ASK_BODY = '{"question": "{{prompt}}", "model": "{{model}}", "instructions": "{{system}}"}'
OPTIONS = {"body": ASK_BODY, "answer": "results[0].text"}
NASTY = '"}, "admin": true, {"x": "\\ \n\u2028{{system}} {{messages}}'


def say(text=QUESTION, system="Be kind."):
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    body = {"model": "sim-large", "messages": messages}
    return Request("main", "sim-large", "/chat/completions", body)


def app(client, simulator, **options):
    manner = Manner(options={**OPTIONS, **options})
    return PROVIDERS["app"](client, "app", f"{simulator.url}/app/ask", "", None, manner)


async def test_an_app_answers_by_every_method_and_makes_no_embeddings(client, simulator):
    reply = await app(client, simulator).send(say())
    assert "42" in reply.text
    assert (reply.tokens_in, reply.tokens_out, reply.flaw) == (None, None, "")
    whole = await app(client, simulator, answer="").send(say())
    assert json.loads(whole.text) == {"results": [{"text": reply.text}]}
    for method in ("PUT", "PATCH", "GET"):
        with pytest.raises(Refused, match=f"Not allowed to {method}"):
            await app(client, simulator, method=method).send(say())
    asked = Request("main", "m", EMBEDDINGS_PATH, {"model": "m", "input": ["a"]})
    with pytest.raises(Refused, match="embeddings"):
        await app(client, simulator).send(asked)


@table(
    '{"input": "{{prompt}}", "deep": [{"also": "say: {{prompt}}!"}]}',
    '["{{prompt}}"]',
    '{"input": "{{ prompt }}", "n": 1, "deep": [{"also": "{{system}}"}]}',
)
def test_a_case_cannot_leave_the_text_it_is_put_into(template):
    """What is sent has the template's shape, whatever the case holds."""
    asked = [say(text, "quiet") for text in ("plain", NASTY)]
    plain, nasty = (App.written(one, {"body": template}).body for one in asked)
    assert shape_of(plain) == shape_of(nasty) == shape_of(json.loads(template))
    assert NASTY in texts_in(nasty) or f"say: {NASTY}!" in texts_in(nasty)


def shape_of(part):
    if isinstance(part, dict):
        return {name: shape_of(value) for name, value in part.items()}
    return [shape_of(value) for value in part] if isinstance(part, list) else type(part)


def texts_in(part):
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return [text for one in parts for text in texts_in(one)]


def test_messages_alone_become_the_list_and_with_get_the_fields_are_the_query():
    written = App.written(say(), {"body": '{"chat": "{{messages}}", "id": "x-{{model}}"}'})
    assert written.body == {"chat": say().body["messages"], "id": "x-sim-large"}
    options = {"method": "GET", "path": "/ask/", "body": '{"q": "{{prompt}}", "n": 3}'}
    written = App.written(say("a&b=c d#é"), options)
    assert (written.method, written.path) == ("GET", "/ask/?q=a%26b%3Dc%20d%23%C3%A9&n=3")


SAID = '{"a": {"b": "deep"}, "list": [{"x": 1}, "two"], "none": null}'
FOUND = {"a.b": "deep", "$.a.b": "deep", "a['b']": "deep", "list[1]": "two", "list.0.x": "1"}
FOUND |= {"a": '{"b":"deep"}', "": SAID}


def test_where_the_answer_is_and_a_path_that_leads_nowhere_is_none():
    assert {path: text_at(SAID.encode(), path) for path in FOUND} == FOUND
    for path in ("b", "a.b.c", "list[7]", "list.x", "none"):
        with pytest.raises(MalformedAnswer):
            text_at(SAID.encode(), path)


@table(
    ({"body": "{{prompt}}"}, "must be JSON"),
    ({"body": '{"a": "b"}'}, "Put {{prompt}}"),
    ({"body": '{"a": "{{prompt}} {{secret}}"}'}, "Unknown: secret"),
    ({"method": "DELETE"}, "POST"),
    ({"path": "ask"}, "pattern"),
    ({"path": "/a\r\nb"}, "pattern"),
    ({"url": "http://evil.example"}, "Extra inputs"),
)
def test_a_template_that_cannot_be_filled_is_refused(options, told):
    with pytest.raises(ValidationError) as refused:
        AppOptions.model_validate(options)
    assert told in str(refused.value)


@table(*KNOWN_PROVIDERS)
def test_every_provider_speaks_a_protocol_that_we_have_and_may_be_called(name):
    known = KNOWN_PROVIDERS[name]
    assert known.kind in PROVIDERS
    assert known.max_concurrent >= 1
    assert known.title
    assert known.hint.endswith(".")
    if url := known.base_url:
        port = url.split(":")[-1].split("/")[0]
        private = {place_of("localhost", int(port))} if "localhost" in url else set()
        assert check_url(url, AddressPolicy(frozenset(private)))


@table(
    ("https://api.groq.com/openai/v1", "Groq"),
    ("https://API.OpenAI.com/v1", "OpenAI"),
    ("https://my-resource.openai.azure.com", "Azure OpenAI"),
    ("https://api.groq.com.evil.example/v1", None),
    ("http://localhost:11434", None),
    ("", None),
)
def test_whose_address_it_is(url, title):
    found = known_provider_at(url)
    assert (found.title if found else None) == title
    assert TO_COMPLETE in KNOWN_PROVIDERS["azure"].base_url  # by a person
    for models in ({"data": [{"id": "a/b"}]}, [{"id": "a/b"}]):  # a list may come bare
        assert openai_names(models) == ["a/b"]


MODEL = ChosenModel("planner", "openai-main", "some/model", {"temperature": 0.2})
BASE = {"api_base": "https://provider.example/v1"}
OWN_KEY = {"api_key": "os.environ/OPENAI_MAIN_API_KEY"}
SECRETS = "https://me:secret@provider.example/v1?key=secret"
LOCAL = "http://127.0.0.1:11434"


@table(
    row(Server("openai", BASE["api_base"]), "openai", {**BASE, **OWN_KEY}, id="like OpenAI"),
    row(Server("anthropic", ""), "anthropic", OWN_KEY, id="at its usual address"),
    row(Server("ollama", LOCAL), "ollama", {"api_base": LOCAL}, id="without a key"),
    row(Server("openai", SECRETS), "openai", {**BASE, **OWN_KEY}, id="an address with secrets"),
    row(None, "openai", OWN_KEY, id="an endpoint that was removed"),
)
def test_each_step_is_a_model_of_its_name(server, provider, expected):
    servers = {"openai-main": server} if server else {}
    document = litellm_config([MODEL], servers, {"accuracy": 0.75})
    [entry] = document["model_list"]
    assert entry["model_name"] == "planner"
    told = {"model": f"{provider}/some/model", "temperature": 0.2, **expected}
    assert entry["litellm_params"] == told
    assert entry["model_info"] == {"endpoint": "openai-main", "accuracy": 0.75}
    assert "secret" not in str(document)


def test_a_combination_names_the_models_of_its_steps_and_no_key():
    model = {"endpoint": "a", "model": "m", "parameters": {"top_p": 1}}
    document = {"choices": {"planner": "a/m"}, "steps": [{"name": "planner", "model": model}]}
    assert models_of(document) == [ChosenModel("planner", "a", "m", {"top_p": 1})]
    keyed = MODEL._replace(parameters={"api_key": "sk-secret"})
    assert "secret" not in str(litellm_config([keyed], {}, {}))
    names = {"a": "A_API_KEY", "my.own-1": "MY_OWN_1_API_KEY", "9b": "_9B_API_KEY"}
    assert {endpoint: key_name(endpoint) for endpoint in names} == names
