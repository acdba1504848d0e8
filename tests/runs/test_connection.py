"""A connection test tells what is wrong in our words, never in the provider's."""

import json
import logging
import socket
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from runs import secrets
from runs.models import Endpoint, EndpointKind
from runs.services.connection import check_connection
from workers.engine.providers import PROVIDERS, model_list_of

pytestmark = pytest.mark.usefixtures("patient_calls", "data_folder")

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


def test_a_redirect_is_not_followed(settings):
    with provider(models_answer("stolen")) as thief:
        target = f"http://127.0.0.1:{thief.server_address[1]}/v1/models"
        with provider((302, {"Location": target}, b"")) as server:
            report = ask(server, settings)
    assert not report.ok
    assert "redirects" in report.message
    assert thief.seen == []


def test_a_proxy_of_the_environment_is_ignored(settings, patch):
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
