"""The key of a provider that tells everybody this key is nowhere but in requests to it."""

import json
import re
import sqlite3
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urljoin

import aiohttp
import pytest
import redis

from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import ServedSite

pytestmark = pytest.mark.late
# By the name of the model: status, type of the body, body with the key in place of KEY.
JSON, HTML = "application/json", "text/html"
GOOD = (
    '{"id": "KEY", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", '
    '"content": "You sent Bearer KEY, and \\"KEY\\"."}}]}'
)
ANSWERS: dict[str, tuple[int, str, str]] = {
    "unauthorized": (401, JSON, '{"error": {"message": "Wrong key KEY.", "code": "KEY"}}'),
    "forbidden": (403, JSON, '{"error": "KEY may not do this"}'),
    "bad-request": (400, JSON, '{"error": {"message": "KEY", "type": "KEY"}}'),
    "not-found": (404, HTML, "<h1>No model for KEY</h1>"),
    "too-many": (429, JSON, '{"error": {"message": "Rate limit of KEY reached"}}'),
    "broken": (500, HTML, "<pre>Traceback: headers = {'Authorization': 'Bearer KEY'}</pre>"),
    "html": (200, HTML, "<p>Bearer KEY</p>"),
    "no-json": (200, JSON, '{"choices": [KEY'),
    "no-answer": (200, JSON, '{"KEY": "KEY"}'),
    "filtered": (200, JSON, '{"choices": [{"finish_reason": "content_filter", "message": {}}]}'),
    "redirect": (302, HTML, "KEY"),
    "good": (200, JSON, GOOD),
}
KEY = "sk-canary-5d1f0c7a94be2863"
MARK = "told-by-everybody"  # the run's name: what looks for the key finds this, so it does look
OF_A_KIND = 2  # pages: what is stored is read in the database itself
DOCUMENT = {
    "name": MARK,
    "kind": "evaluate",
    "dataset": "sums",
    "prompts": [{"name": "plain", "user": "{{question}}"}],
    "models": [f"{name}/{name}" for name in ANSWERS],
    "scorers": ["exact"],
    "limits": {"attempts": 2},
}
PASSWORD = "long enough and not common 71"


class EchoingProvider:
    def __init__(self, port):
        self.address = f"127.0.0.1:{port}"
        self.heard: set[str] = set()  # models asked for with the key


@contextmanager
def echoing_provider(key):
    class Echo(BaseHTTPRequestHandler):
        def do_POST(self):
            sent = self.headers["Authorization"].removeprefix("Bearer ")
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model = body["model"]
            is_second = model == "too-many" and model in provider.heard  # 429: tried for long
            if sent == key:
                provider.heard.add(model)
            self._answer(*ANSWERS["bad-request" if is_second else model], sent)

        def do_GET(self):
            self._answer(401, JSON, '{"error": "KEY"}', self.headers["Authorization"])

        def _answer(self, status, kind, text, sent):
            content = text.replace("KEY", sent).encode()
            self.send_response(status, f"Bad {sent}")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Location", f"http://{provider.address}/{sent}")
            self.send_header("X-Request-Id", sent)
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        provider = EchoingProvider(server.server_port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield provider
        server.shutdown()


class Overheard:
    """Every command that any process sends to Redis, as MONITOR tells it."""

    def __init__(self, url):
        self._commands: list[str] = []
        self._monitor = redis.Redis.from_url(url, socket_timeout=None).monitor()
        self._monitor.__enter__()  # from here on it hears
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        try:
            for command in self._monitor.listen():
                self._commands.append(str(command["command"]))
        except redis.ConnectionError:
            pass  # the site was stopped, and its Redis with it

    def to_the_end(self):
        """When the site has been stopped."""
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()
        return "\n".join(self._commands)


class Visitor:
    """An administrator with a browser and a token, who looks at everything there is."""

    def __init__(self, http, url, token):
        self._http, self._url = http, url
        self._bearer = {"Authorization": f"Bearer {token}"}
        self.seen: dict[str, str] = {}

    async def set_up(self, link):
        async with self._http.get(link) as page:
            csrf = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', await page.text())
        assert csrf
        form = {"csrfmiddlewaretoken": csrf[1], "username": "ada"}
        form |= {"password": PASSWORD, "password_again": PASSWORD}
        async with self._http.post(link, data=form, headers={"Referer": link}) as answer:
            assert answer.url.path != "/setup/", await answer.text()

    async def ask(self, method, path, body=None):
        address = f"{self._url}/api/v1{path}"
        async with self._http.request(
            method, address, json=body, headers=self._bearer, cookies={}
        ) as answer:
            self.seen[f"{method} {path}"] = await answer.text()
            assert answer.status < 300, self.seen[f"{method} {path}"]
            return await answer.json()

    async def wait_until_over(self, run):
        """Finished, or paused because the provider refuses."""
        address = f"{self._url}/api/v1/runs/{run}/events/stream"
        async with self._http.get(address, headers=self._bearer) as stream:
            while (await self.ask("GET", f"/runs/{run}"))["state"] in ("queued", "running"):
                await stream.content.readline()

    async def watch(self, run):
        address = f"{self._url}/ws/runs/{run}/"
        async with self._http.ws_connect(address, origin=self._url) as socket:
            while '"type":"snapshot"' not in (frame := await socket.receive_str()):
                pass
        self.seen[f"socket {run}"] = frame

    async def walk(self):
        """Every kind of page that a link leads to: those of two runs differ by a number."""
        waiting, kinds = ["/", "/admin/", "/metrics"], Counter[str]()
        while waiting:
            path = waiting.pop(0)
            kind = re.sub(r"\d+", "N", path)
            if path in self.seen or kinds[kind] == OF_A_KIND:
                continue
            kinds[kind] += 1
            async with self._http.get(self._url + path) as answer:
                text = await answer.text(errors="replace")
                self.seen[path] = f"{answer.headers}\n{text}"
            for link in re.findall(r'href="([^"#?]+)"', text):
                full = urljoin(self._url + path, link)
                if full.startswith(self._url + "/") and "/static/" not in full:
                    waiting.append(full.removeprefix(self._url))


async def test_a_key_that_its_provider_tells_everybody_is_nowhere_else(tmp_path):
    with (
        echoing_provider(KEY) as provider,
        ServedSite(
            tmp_path,
            EVALSITE_WORKERS="1",
            EVALSITE_ALLOWED_PRIVATE_ENDPOINTS=provider.address,
        ) as site,
    ):
        overheard = Overheard((tmp_path / "redis" / "url").read_text().strip())
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            visitor = Visitor(http, site.url, site.make_token())
            await visitor.set_up(site.setup_link)
            await call_in_every_way(visitor, provider.address)
            await visitor.walk()
    assert provider.heard == set(ANSWERS)
    told = overheard.to_the_end()
    places = {**visitor.seen, "what Redis was told": told}  # what was logged is in a file
    places |= {f"file {path.name}": text_of(path) for path in tmp_path.rglob("*") if path.is_file()}
    assert [name for name, text in places.items() if KEY in text] == []
    marked = {name for name, text in places.items() if MARK in text}
    assert {"/runs/", "GET /runs/1", "file evalsite.sqlite3"} <= marked
    assert "execute_chunk" in told
    assert "evalsite is ready" in places["file serve.log"]
    assert len(visitor.seen) > 40


async def call_in_every_way(visitor, address):
    """One endpoint for each answer, so that no breaker keeps a call back."""
    rows = [{"question": "2 + 3", "expected": "5"}]
    await visitor.ask("POST", "/datasets", {"name": "sums", "rows": rows})
    for name in ANSWERS:
        at = {"kind": "openai", "base_url": f"http://{address}/v1", "api_key": KEY}
        models = {"models": [name], "max_concurrent": 2}
        await visitor.ask("POST", "/endpoints", {"name": name, **at, **models})
    run = (await visitor.ask("POST", "/runs", {"configuration": DOCUMENT}))["id"]
    await visitor.wait_until_over(run)
    for part in ("", "/scores", "/candidates", "/events", "/trials/0", "/samples"):
        await visitor.ask("GET", f"/runs/{run}{part}")
    await visitor.watch(run)


def text_of(path):
    """A database as its rows, too: a long text is spread over pages of its file."""
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix != ".sqlite3":
        return text
    with sqlite3.connect(path) as database:
        return text + "\n".join(database.iterdump())
