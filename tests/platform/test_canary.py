"""The key of a provider that tells everybody this key is nowhere but in requests to it."""

import asyncio
import json
import re
import sqlite3
import threading
from collections import Counter
from contextlib import contextmanager
from urllib.parse import urljoin

import pytest
import redis

from tests.harness.answering import Told, answering
from tests.harness.patience import PATIENCE_SECONDS, wait_until
from tests.harness.site import UNDER_WAY, ServedSite

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


@contextmanager
def echoing_provider(key):
    """Its address, and the models that it was asked for with the key."""
    heard: set[str] = set()

    def answer(asked):
        sent = asked.headers["Authorization"].removeprefix("Bearer ")
        if not asked.body:
            return echo(asked, sent, 401, JSON, '{"error": "Bearer KEY"}')
        model = json.loads(asked.body)["model"]
        is_second = model == "too-many" and model in heard  # 429: tried for long
        if sent == key:
            heard.add(model)
        return echo(asked, sent, *ANSWERS["bad-request" if is_second else model])

    with answering(answer) as address:
        yield address, heard


def echo(asked, sent, status, kind, text):
    back = {"Location": f"http://{asked.headers['Host']}/{sent}", "X-Request-Id": sent}
    headers = {"Content-Type": kind, **back, "Retry-After": "0"}
    return Told(status, text.replace("KEY", sent), headers, f"Bad {sent}")


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


def walk(visitor):
    """Every kind of page that a link leads to: those of two runs differ by a number."""
    seen: dict[str, str] = {}
    waiting, kinds = ["/runs/", "/admin/", "/metrics"], Counter[str]()
    while waiting:
        path = waiting.pop(0)
        kind = re.sub(r"\d+", "N", path)
        if path in seen or kinds[kind] == OF_A_KIND:
            continue
        kinds[kind] += 1
        answer = visitor.load(path)
        text = answer.body.decode(errors="replace")
        seen[path] = f"{answer.headers}\n{text}"
        for link in re.findall(r'href="([^"#?]+)"', text):
            full = urljoin(visitor.site + path, link)
            if full.startswith(visitor.site + "/") and "/static/" not in full:
                waiting.append(full.removeprefix(visitor.site))
    return seen


def test_a_key_that_its_provider_tells_everybody_is_nowhere_else(tmp_path):
    with (
        echoing_provider(KEY) as (address, heard),
        ServedSite(
            tmp_path, EVALSITE_WORKERS="1", EVALSITE_ALLOWED_PRIVATE_ENDPOINTS=address
        ) as site,
    ):
        overheard = Overheard((tmp_path / "redis" / "url").read_text().strip())
        seen = call_in_every_way(site, address) | walk(site.visitor)
    assert heard == set(ANSWERS)
    told = overheard.to_the_end()
    places = {**seen, "what Redis was told": told}  # what was logged is in a file
    places |= {f"file {path.name}": text_of(path) for path in tmp_path.rglob("*") if path.is_file()}
    assert [name for name, text in places.items() if KEY in text] == []
    marked = {name for name, text in places.items() if MARK in text}
    assert {"/runs/", "/api/v1/runs/1", "file evalsite.sqlite3"} <= marked
    assert "execute_chunk" in told
    assert "evalsite is ready" in places["file serve.log"]
    assert len(seen) > 40


def call_in_every_way(site, address):
    """One endpoint for each answer, so that no breaker keeps a call back. What the API and the
    socket said of the run when it was over, or paused because the provider refuses."""
    visitor, posted = site.visitor, []
    rows = [{"question": "2 + 3", "expected": "5"}]
    posted.append(visitor.post("/datasets", {"name": "sums", "rows": rows}))
    for name in ANSWERS:
        at = {"kind": "openai", "base_url": f"http://{address}/v1", "api_key": KEY}
        models = {"models": [name], "max_concurrent": 2}
        posted.append(visitor.post("/endpoints", {"name": name, **at, **models}))
    posted.append(visitor.post("/runs", {"configuration": DOCUMENT}))
    run = posted[-1].json()["id"]
    wait_until(lambda: not site.database.rows(UNDER_WAY))
    parts = ("", "/scores", "/candidates", "/events", "/trials/0", "/samples")
    read = {
        f"/api/v1/runs/{run}{part}": visitor.load(f"/api/v1/runs/{run}{part}") for part in parts
    }
    assert all(answer.status < 300 for answer in [*posted, *read.values()])
    frame = asyncio.run(visitor.first_frame(run))
    assert frame
    said = {**read, **{f"answer {place}": answer for place, answer in enumerate(posted)}}
    return {"socket": json.dumps(frame), **{name: str(answer) for name, answer in said.items()}}


def text_of(path):
    """A database as its rows, too: a long text is spread over pages of its file."""
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix != ".sqlite3":
        return text
    with sqlite3.connect(path) as database:
        return text + "\n".join(database.iterdump())
