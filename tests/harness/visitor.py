"""Somebody outside: pages and the API over HTTP, and the socket, as their clients see them."""

from __future__ import annotations

import asyncio
import html
import http.client
import json
import re
import time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp

ANSWER_SECONDS = 30.0
SOCKET_TRIES, SOCKET_PAUSE_SECONDS = 4, 0.5
STATE = re.compile(r"data-run-state>(.*?)<span class=\"run-reason", re.DOTALL)
PROGRESS = re.compile(r"data-live=\"progress\">([^<]*)<")
FAILED = re.compile(r"data-live=\"failed\">\s*([\d,]+)")


class Shown(NamedTuple):
    """What a person reads of a run."""

    state: str
    progress: str
    failed: int


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: str

    def json(self) -> Any:
        return json.loads(self.body)


class Visitor:
    """Signed in, with a token for the API. Every request has a connection of its own."""

    def __init__(self, site: str, cookies: dict[str, str], token: str) -> None:
        self.site = site
        self.cookies = cookies
        self._token = token
        self._place = urlsplit(site).netloc

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._place, timeout=ANSWER_SECONDS)

    def load(self, path: str) -> Answer:
        """A page, as a browser loads it."""
        cookie = "; ".join("=".join(item) for item in self.cookies.items())
        connection = self.connect()
        connection.request("GET", path, headers={"Cookie": cookie})
        return read(connection)

    def send(self, path: str, body: Any = None, key: str = "") -> http.client.HTTPConnection:
        """A command to the API, whose answer is not read yet."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        connection = self.connect()
        connection.request("POST", f"/api/v1{path}", json.dumps(body or {}), headers)
        return connection

    def post(self, path: str, body: Any = None, key: str = "") -> Answer:
        return read(self.send(path, body, key))

    def read_page(self, run: int) -> Shown:
        """By the HTML of a page that is loaded now."""
        answer = self.load(f"/runs/{run}/")
        assert answer.status == http.HTTPStatus.OK, f"the page was answered {answer.status}"
        text = answer.body.decode()
        state, progress, failed = (first_in(pattern, text) for pattern in (STATE, PROGRESS, FAILED))
        return Shown(state, progress, int(failed.replace(",", "")))

    def read_socket(self, run: int) -> Shown:
        """By the first frame with numbers of a socket opened now. Like a page it tries again
        when it is cut: the first one is, after Redis was started anew."""
        for _ in range(SOCKET_TRIES):
            if frame := asyncio.run(self.first_frame(run)):
                return Shown(frame["state_text"], frame["text"]["progress"], frame["bar"]["failed"])
            time.sleep(SOCKET_PAUSE_SECONDS)
        raise AssertionError(f"The socket sent no number in {SOCKET_TRIES} tries.")

    async def first_frame(self, run: int) -> dict[str, Any] | None:
        """The first one with numbers, unless the socket is cut."""
        headers = {"Origin": self.site}
        async with (
            asyncio.timeout(ANSWER_SECONDS),
            aiohttp.ClientSession(cookies=self.cookies, headers=headers) as client,
            client.ws_connect(f"{self.site}/ws/runs/{run}/") as socket,
        ):
            async for message in socket:
                frame: dict[str, Any] = json.loads(message.data)
                if frame["type"] == "snapshot":
                    return frame
        return None


def read(connection: http.client.HTTPConnection) -> Answer:
    answer = connection.getresponse()
    found = Answer(answer.status, answer.read(), str(answer.headers))
    connection.close()
    return found


def first_in(pattern: re.Pattern[str], text: str) -> str:
    """The text of the place, without markup."""
    found = pattern.search(text)
    assert found is not None, f"the page has no {pattern.pattern}"
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", found[1])).split())
