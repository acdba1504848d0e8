"""A connection test tells what is wrong in our words; and the try-it box."""

import io
import json
import logging
import re
import socket
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from runs import secrets
from runs.models import AuditEntry, Endpoint, EndpointKind
from runs.selectors.endpoints.permit_state import open_redis
from runs.services.connection import check_connection
from runs.services.endpoints import save_endpoint
from runs.services.trying import NO_PERMIT, PAUSED, try_prompt
from tests.api.asking import Asker
from tests.harness.factories import client_of
from workers.engine.providers import PROVIDERS, model_list_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("patient_calls", "data_folder")]

CANARY = "sk-canary-0123456789abcdef"


def new_endpoint(**fields):
    given = {"name": "main", "kind": EndpointKind.OPENAI, "base_url": "https://provider.example/v1"}
    return Endpoint(**{**given, **fields})


class Provider(BaseHTTPRequestHandler):
    """Plays a provider: answers every request with what the server was told."""

    server: "ProviderServer"

    def do_GET(self):
        self.server.seen.append((self.path, dict(self.headers)))
        status, headers, body = self.server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if self.server.hangs:
            self.wfile.flush()
            self.server.given_up.wait()

    def log_message(self, *args):
        pass


class ProviderServer(ThreadingHTTPServer):
    def __init__(self, answer, hangs):
        super().__init__(("127.0.0.1", 0), Provider)
        self.answer = answer
        self.hangs = hangs
        self.given_up = Event()
        self.seen: list[tuple[str, dict[str, str]]] = []


@contextmanager
def provider(answer, hangs=False):
    server = ProviderServer(answer, hangs)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.given_up.set()
        server.shutdown()
        thread.join()
        server.server_close()


def models_answer(*names):
    return 200, {}, json.dumps({"data": [{"id": name} for name in names]}).encode()


def ask(server, settings, key=CANARY, models=(), **options):
    port = server.server_address[1]
    settings.ALLOWED_PRIVATE_ENDPOINTS = (f"127.0.0.1:{port}",)
    endpoint = new_endpoint(base_url=f"http://127.0.0.1:{port}/v1", model_names=list(models))
    if key:
        endpoint.key_ciphertext = secrets.encrypt(key)
    return check_connection(endpoint, **options)


def test_a_good_connection_lists_the_models_and_sends_the_key_if_there_is_one(settings):
    with provider(models_answer("small", "large")) as server:
        report = ask(server, settings)
        assert ask(server, settings, key="").ok
        server.answer = models_answer("small", f"x-{CANARY}", "bad\x00name")
        odd = ask(server, settings)  # a model that is named like the key
    assert (report.ok, report.status, report.latency_ms > 0) == (True, 200, True)
    assert (report.models, report.message) == (("small", "large"), "Connected: 2 models.")
    assert (odd.models, odd.message) == (("small",), "Connected: 1 model.")
    (path, headers), (_, without), _ = server.seen
    assert (path, headers["Authorization"]) == ("/v1/models", f"Bearer {CANARY}")
    assert headers["Accept-Encoding"] == "identity"
    assert "Authorization" not in without


UNLISTED = [
    (["small"], ["small", "large"], ()),
    (["smal"], ["small", "large"], ("smal",)),
    (["small", "b", "c"], ["small"], ("b", "c")),
    (["llama3"], ["llama3:latest"], ()),
    (["llama3:8b"], ["llama3:latest"], ("llama3:8b",)),
    (["last"], [*(f"model-{n}" for n in range(300)), "last"], ()),
    (["small"], [], ("small",)),
    ([], ["small"], ()),
]


def test_a_model_that_the_server_does_not_list_is_named(settings):
    with provider(models_answer()) as server:
        for entered, listed, unlisted in UNLISTED:
            server.answer = models_answer(*listed)
            report = ask(server, settings, models=entered)
            assert report.ok  # the server did answer
            assert report.unlisted == unlisted
            assert len(report.models) <= 200
            if unlisted:
                word = "model" if len(unlisted) == 1 else "models"
                said = f"The server answers, but it does not list the {word} {', '.join(unlisted)}."
                assert report.message == said
                assert "No call was made" in report.advice


REFUSALS = [
    (401, "did not accept the key (401)", "Replace the endpoint's key"),
    (403, "did not accept the key (403)", "Replace the endpoint's key"),
    (404, "no list of models there (404)", "base URL ends with the version"),
    (400, "refused the request (400)", "parameters"),
    (429, "limits the rate of calls", "Lower Calls at once (max_concurrent)"),
    (500, "failed on its side (500)", "Retry later"),
    (503, "failed on its side (503)", "Retry later"),
]


def test_a_refusal_is_told_in_our_words_even_if_the_provider_echoes_the_key(settings, caplog):
    caplog.set_level(logging.DEBUG)
    echo = json.dumps({"error": {"message": f"Incorrect API key: {CANARY}"}}).encode()
    with provider((200, {}, b"")) as server:
        for status, message, advice in REFUSALS:
            server.answer = (status, {"X-Key": CANARY}, echo)
            report = ask(server, settings)
            assert (report.ok, report.status) == (False, status)
            assert message in report.message
            assert advice in report.advice
            assert CANARY not in repr(report)
    assert CANARY not in caplog.text


def test_no_redirect_is_followed_and_no_proxy_of_the_environment_is_used(settings, patch):
    with provider(models_answer("stolen")) as thief:
        target = f"http://127.0.0.1:{thief.server_address[1]}/v1/models"
        with provider((302, {"Location": target}, b"")) as server:
            report = ask(server, settings)
    assert not report.ok
    assert "redirects" in report.message
    assert thief.seen == []
    with provider(models_answer("proxied")) as proxy, provider(models_answer("direct")) as server:
        patch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.server_address[1]}")
        patch.setenv("http_proxy", f"http://127.0.0.1:{proxy.server_address[1]}")
        assert ask(server, settings).models == ("direct",)
    assert proxy.seen == []


NO_LISTS = [b"", b"<html>", b"[]", b"{}", b'{"data": 3}', b'{"data": [1]}', b"[" * 100_000, b"\xff"]


def test_an_answer_that_is_no_list_breaks_off_hangs_or_is_huge_is_said_to_be_so(settings):
    with provider((200, {}, b"")) as server:
        for body in NO_LISTS:
            server.answer = (200, {}, body)
            report = ask(server, settings)
            told = "It answered, but not with a list of models."
            assert (report.ok, report.message) == (False, told)
        for length, message in ((10, "broke off"), (10**9, "1,000,000,000 bytes")):
            server.answer = (200, {"Content-Length": str(length)}, b"[")
            report = ask(server, settings)
            assert not report.ok
            assert message in report.message
    # It never ends its answer by itself: only the deadline can.
    with provider((200, {"Content-Length": "10"}, b"["), hangs=True) as server:
        report = ask(server, settings, deadline_seconds=0.2)
        assert not server.given_up.is_set()
    assert (report.ok, report.message) == (False, "No full answer within 0.2 seconds.")


def test_nobody_listening_and_a_lost_key_file_are_told_and_private_addresses_not_called(settings):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # so that nobody else listens there meanwhile
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        settings.ALLOWED_PRIVATE_ENDPOINTS = (place,)
        report = check_connection(new_endpoint(base_url=f"http://{place}/v1"))
    assert (report.ok, "Nothing answers at this address" in report.message) == (False, True)
    endpoint = new_endpoint(key_ciphertext=secrets.encrypt(CANARY))
    secrets.key_file().unlink()
    report = check_connection(endpoint)
    assert (report.ok, "is gone" in report.message) == (False, True)
    settings.ALLOWED_PRIVATE_ENDPOINTS = ()  # by number, by name and as a further server
    with provider(models_answer("secret")) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        named = url.replace("127.0.0.1", "localhost")
        for fields in ({"base_url": url}, {"base_url": named}, {"more_urls": [url]}):
            report = check_connection(new_endpoint(**fields))
            assert not report.ok
            assert "under Private addresses" in report.message
    assert server.seen == []


def test_every_kind_is_asked_in_its_own_way(settings):
    assert set(PROVIDERS) == set(EndpointKind.values)
    assert [kind for kind in PROVIDERS if model_list_of(kind) is None] == ["app"]
    anthropic = {"x-api-key": CANARY, "anthropic-version": "2023-06-01"}
    ollama = {"Authorization": f"Bearer {CANARY}"}
    for kind, suffix, path, headers, answer in (
        ("anthropic", "/v1", "/v1/models?limit=1000", anthropic, {"data": [{"id": "small"}]}),
        ("ollama", "", "/api/tags", ollama, {"models": [{"name": "small"}]}),
    ):
        with provider((200, {}, json.dumps(answer).encode())) as server:
            place = f"127.0.0.1:{server.server_address[1]}"
            settings.ALLOWED_PRIVATE_ENDPOINTS = (place,)
            endpoint = new_endpoint(kind=kind, base_url=f"http://{place}{suffix}")
            endpoint.key_ciphertext = secrets.encrypt(CANARY)
            assert check_connection(endpoint).models == ("small",)
        [(asked, sent)] = server.seen
        assert (asked, sent.items() >= headers.items()) == (path, True)


def test_all_servers_are_asked_what_they_share_is_listed_and_who_fails_is_named(settings):
    with provider(models_answer("a", "b")) as first, provider(models_answer("b", "c")) as second:
        places = [f"127.0.0.1:{server.server_address[1]}" for server in (first, second)]
        settings.ALLOWED_PRIVATE_ENDPOINTS = tuple(places)
        base, more = (f"http://{place}/v1" for place in places)
        endpoint = new_endpoint(base_url=base, more_urls=[more])
        report = check_connection(endpoint)
        second.answer = (503, {}, b"")
        failed = check_connection(endpoint)
    assert (report.ok, report.models) == (True, ("b",))
    assert report.message == "Connected to 2 servers: all offer 1 model."
    assert not failed.ok
    assert failed.message.startswith(f"{places[1]}: The provider failed")


VALUE = 'canary "quoted" \\ header'
ANSWER = "The answer is 42."
PROMPT = "What is 17 + 25?"


@pytest.fixture
def endpoint(ada, simulator):
    made = Endpoint(name="main", kind="openai", base_url=f"{simulator.url}/v1")
    made.model_names, made.prices = ["sim-large"], {"sim-large": {"input": 1e5, "output": 1e5}}
    return save_endpoint(ada, made, CANARY, new_headers={"X-Team": VALUE})


def test_a_prompt_is_answered_with_what_went_over_the_wire(ada, endpoint, simulator):
    tried = try_prompt(ada, endpoint, "sim-large", PROMPT)
    assert (tried.answer, tried.problem) == (ANSWER, "")
    used = (tried.tokens_in or 0) + (tried.tokens_out or 0)
    assert tried.cost == pytest.approx(used / 10)
    assert used > 0
    [exchange] = tried.exchanges
    assert exchange.request.startswith(f"POST {simulator.url}/v1/chat/completions")
    assert PROMPT in exchange.request
    assert exchange.response.startswith("HTTP 200")
    assert "X-Team: [key]" in exchange.request
    for text in (exchange.request, exchange.response):
        assert CANARY not in text
        assert VALUE not in text
    [row] = simulator.requests()
    assert row["model"] == "sim-large"
    entry = AuditEntry.objects.get(action="endpoint.prompted")
    assert (entry.subject, entry.detail) == ("main", "sim-large")
    with open_redis() as client:
        held = client.hgetall(f"permits:held:endpoint:{endpoint.pk}/sim-large")
        state = client.hgetall(f"permits:state:endpoint:{endpoint.pk}/sim-large")
    assert not any(int(count) for count in held.values()), "the permit is given back at once"
    counted = int(state[b"calls"]) + int(state.get(b"last_calls", 0))  # by the minute
    assert counted == 1  # with those of runs
    simulator.play({"match": {}, "times": 1, "do": "key"})  # the provider echoes the key
    tried = try_prompt(ada, endpoint, "sim-large", PROMPT)
    assert (bool(tried.problem), CANARY in str(tried)) == (True, False)
    assert "HTTP 401" in tried.exchanges[0].response


def test_what_may_not_be_sent_or_not_now_says_so(ada, bob, endpoint, simulator, settings):
    for model, prompt in (("", PROMPT), ("m" * 201, PROMPT), ("m", " \n"), ("m", "x" * 20_001)):
        with pytest.raises(ValidationError):
            try_prompt(ada, endpoint, model, prompt)
    with pytest.raises(PermissionDenied):
        try_prompt(bob, endpoint, "sim-large", PROMPT)
    assert not AuditEntry.objects.filter(action="endpoint.prompted").exists()
    endpoint.is_paused = True
    assert try_prompt(ada, endpoint, "sim-large", PROMPT).problem == PAUSED
    Endpoint.objects.update(is_paused=True)
    with pytest.raises(CommandError, match=PAUSED) as refused:
        call_command("try_prompt", "main/sim-large", PROMPT)
    assert refused.value.returncode == 3
    endpoint.is_paused, endpoint.max_concurrent = False, 0
    tried = try_prompt(ada, endpoint, "sim-large", PROMPT, deadline_seconds=0.5)
    assert tried.problem == NO_PERMIT
    endpoint.max_concurrent = 4
    settings.ALLOWED_PRIVATE_ENDPOINTS = ()
    tried = try_prompt(ada, endpoint, "sim-large", PROMPT)
    assert "loopback" in tried.problem
    assert (tried.exchanges, simulator.requests()) == ((), [])


def test_the_page_its_part_and_the_api_show_the_answer(ada, endpoint, settings):
    page, address = client_of(ada), reverse("endpoint_try", args=[endpoint.pk])
    sent = {"model": "sim-large", "prompt": PROMPT}
    answer = Asker(ada).post("/endpoints/main/try", sent)
    assert (answer.json()["answer"], CANARY in answer.text) == (ANSWER, False)
    for part in ({}, {"X-Part": "tried"}):
        shown = page.post(address, sent, headers=part).text
        assert '<p class="tried-answer">The answer is 42.</p>' in shown
        assert CANARY not in shown
        assert ("<html" in shown) is (not part)
        assert "Write a prompt" in page.post(address, {}, headers=part).text
    settings.WORK_REQUESTS_PER_MINUTE = 0  # it is counted with other pages that work
    assert page.post(address, {}).status_code == 429


def test_the_command_prints_what_came_and_what_it_took(
    ada, endpoint, simulator, capsys, set_constant
):
    call_command("try_prompt", "main/sim-large", PROMPT)
    printed = capsys.readouterr()
    assert printed.out == f"{ANSWER}\n"
    assert re.search(r"\d m?s, \d+ tokens in, \d+ out, \$", printed.err)
    simulator.play({"match": {}, "times": 1, "do": "answer", "answer": "red \x1b[31m\nor not"})
    set_constant(sys, "stdin", io.StringIO(PROMPT))
    call_command("try_prompt", "main/sim-large", "-", raw=True)
    out = capsys.readouterr().out
    assert out.endswith("red \ufffd[31m\nor not\n")
    assert out.startswith(f"POST {simulator.url}/v1/chat/completions")
    assert not [secret for secret in (CANARY, VALUE) if secret in out]
    for model in ("main", "other/sim-large", "sim-large"):
        with pytest.raises(CommandError, match="Write endpoint/model") as refused:
            call_command("try_prompt", model, PROMPT)
        assert refused.value.returncode == 2
