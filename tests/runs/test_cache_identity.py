"""Whose answer a cached one is: no deployment, key or site gets that of another."""

from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from runs import secrets
from runs.models import Endpoint, EndpointKind
from runs.selectors.endpoints.service import service_of
from runs.selectors.estimates.calls import keys_of
from workers.engine.calling.cache import MemoryCache
from workers.engine.here import run_here
from workers.engine.http import Client
from workers.engine.kinds import read_configuration
from workers.engine.records import Case
from workers.wiring import build_provider

KEY_A, KEY_B = "sk-canary-aaaaaaaaaaaaaaaa", "sk-canary-bbbbbbbbbbbbbbbb"
CASES = [Case(0, {"question": "Who are you?", "expected": "it"})]
DOCUMENT: dict[str, Any] = {
    "name": "who",
    "kind": "evaluate",
    "dataset": "who",
    "prompts": [{"name": "plain"}],
    "models": ["it/model"],
    "scorers": ["exact"],
}
JUDGED = {**DOCUMENT, "scorers": [{"rubric": {"judge": "it/judge", "rubric": "It is polite."}}]}
EMBEDDED = {**DOCUMENT, "scorers": [{"similarity": {"model": "it/vectors"}}]}


class Host:
    """One host with many deployments: each answers with its own path and the key it was sent."""

    def __init__(self):
        self.calls = 0

    async def answer(self, request):
        self.calls += 1
        who = f"{request.path} for {request.headers.get('Authorization', 'nobody')}"
        body = await request.json()
        if request.path.endswith("/embeddings"):
            rows = [{"index": n, "embedding": [1.0, n]} for n, _ in enumerate(body["input"])]
            return web.json_response({"data": rows})
        text = '{"score": 1, "reason": "It is."}' if body["model"] == "judge" else who
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice]})


@pytest.fixture
def host():
    return Host()


@pytest.fixture
async def address(host, settings, tmp_path):
    application = web.Application()
    application.router.add_post("/{path:.*}", host.answer)
    server = TestServer(application)
    await server.start_server()
    settings.EVALSITE_DATA = tmp_path
    settings.ALLOWED_PRIVATE_ENDPOINTS = (f"127.0.0.1:{server.port}",)
    yield f"http://127.0.0.1:{server.port}"
    await server.close()


def endpoint_at(base_url, key="", kind=EndpointKind.OPENAI):
    ciphertext = secrets.encrypt(key) if key else ""
    return Endpoint(name="it", kind=kind, base_url=base_url, key_ciphertext=ciphertext)


async def ask(endpoint, cache, document=DOCUMENT):
    async with Client() as client:
        providers = {"it": build_provider(endpoint, client)}
        configuration = read_configuration(document)
        (score,) = await run_here(configuration, CASES, providers, cache=cache)
    return score


async def test_another_deployment_of_the_host_gives_its_own_answers(host, address):
    cache = MemoryCache()
    first = await ask(endpoint_at(f"{address}/deploymentA", KEY_A), cache)
    second = await ask(endpoint_at(f"{address}/deploymentB", KEY_B), cache)
    assert first.answer == f"/deploymentA/chat/completions for Bearer {KEY_A}"
    assert second.answer == f"/deploymentB/chat/completions for Bearer {KEY_B}"
    assert (first.cached, second.cached, host.calls) == (False, False, 2)


IS_SAME = {
    ("/a", KEY_A, EndpointKind.OPENAI): True,  # encrypted anew
    ("/a/", KEY_A, EndpointKind.OPENAI): True,  # with a slash at the end
    ("/a", KEY_B, EndpointKind.OPENAI): False,
    ("/a", "", EndpointKind.OPENAI): False,
    ("/b", KEY_A, EndpointKind.OPENAI): False,
    ("/a/b", KEY_A, EndpointKind.OPENAI): False,
    ("/a", KEY_A, EndpointKind.SIMULATED): False,
}


async def test_what_differs_is_asked_again(host, address):
    found = {}
    for path, key, kind in IS_SAME:
        host.calls, cache = 0, MemoryCache()
        await ask(endpoint_at(f"{address}/a", KEY_A), cache)
        again = await ask(endpoint_at(f"{address}{path}", key, kind), cache)
        found[path, key, kind] = again.cached
        assert host.calls == (1 if again.cached else 2)
    assert found == IS_SAME


async def test_what_a_scorer_asks_is_kept_apart_too(host, address):
    for document in (JUDGED, EMBEDDED):
        cache = MemoryCache()
        for key in (KEY_A, KEY_B):
            before = host.calls
            score = await ask(endpoint_at(f"{address}/a", key), cache, document)
            assert score.error == ""
            assert host.calls == before + 2  # the answer, and what its scorer asked
        before = host.calls
        await ask(endpoint_at(f"{address}/a", KEY_A), cache, document)
        assert host.calls == before


async def test_an_estimate_looks_under_the_keys_that_a_run_stores(address):
    cache, endpoint = MemoryCache(), endpoint_at(f"{address}/a/", KEY_A)
    await ask(endpoint, cache)
    found = keys_of(read_configuration(DOCUMENT), CASES, {"it": endpoint})
    assert [key for key, _ in found] == list(cache.replies)


def test_nobody_can_try_out_keys_against_what_tells_them_apart(settings, tmp_path):
    settings.EVALSITE_DATA = tmp_path
    endpoint = endpoint_at("https://provider.example/v1", KEY_A)
    settings.SECRET_KEY = "one site's key, which nobody else knows"
    here = service_of(endpoint)
    settings.SECRET_KEY = "another site's key, which nobody else knows"
    assert service_of(endpoint) != here
    assert KEY_A not in here


def test_the_sites_own_simulator_is_the_same_at_every_port(settings):
    own = endpoint_at("", kind=EndpointKind.SIMULATED)
    settings.SIMULATOR_URL = "http://127.0.0.1:1111"
    before = service_of(own)
    settings.SIMULATOR_URL = "http://127.0.0.1:2222"
    assert service_of(own) == before
    named = endpoint_at("https://provider.example/v1", kind=EndpointKind.SIMULATED)
    assert service_of(named) != before  # whatever its kind says, it is somebody else's server
