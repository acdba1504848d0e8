"""A web server in a process of its own, on the database and the Redis of the tests."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import aiohttp
from channels.db import database_sync_to_async
from django.conf import settings

from evalsite.embedded.child_processes import die_with_parent
from evalsite.embedded.parts import Plan, web_part
from evalsite.embedded.ports import claim_port
from runs.models import Run, RunState
from runs.open_sockets import key_of
from tests.conftest import shared_redis
from tests.harness.factories import client_of, make_dataset, make_person, make_run
from tests.harness.patience import PATIENCE_SECONDS
from tests.platform.processes import BASE_DIR
from tests.platform.serving import time_of_first_answer
from tests.workers.working import worker_environment


class Web(NamedTuple):
    url: str
    pid: int


@contextmanager
def running_web() -> Iterator[Web]:
    """With the options that `serve` gives it."""
    port = claim_port("127.0.0.1", 0, "--port")
    plan = Plan("127.0.0.1", port, simulator_port=0, workers=0, origins=(), redis=None)
    env = {**worker_environment(), "EVALSITE_ORIGINS": plan.url}
    process = subprocess.Popen(
        web_part(plan, env).argv,
        cwd=BASE_DIR,
        env=env,
        preexec_fn=die_with_parent(),  # noqa: PLW1509  # it starts no thread before it is another program
    )
    try:
        time_of_first_answer(plan.url, lambda: process.poll() is None)
        yield Web(plan.url, process.pid)
    finally:
        process.kill()
        process.wait()


class Browser:
    """Somebody who is signed in, and a run of theirs that goes on."""

    def __init__(self, web: Web, run: Run, cookies: dict[str, str]) -> None:
        self.person = run.owner_id
        self._address = f"{web.url}/ws/runs/{run.pk}/"
        self._headers, self._cookies = {"Origin": web.url}, cookies

    async def __aenter__(self) -> Browser:
        self._http = aiohttp.ClientSession(
            headers=self._headers,
            cookies=self._cookies,
            connector=aiohttp.TCPConnector(limit=0),
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.close()

    async def connect(self) -> aiohttp.ClientWebSocketResponse:
        return await self._http.ws_connect(self._address)

    async def open_page(self) -> aiohttp.ClientWebSocketResponse:
        """A live page: it has its first numbers and said so."""
        socket = await self.connect()
        await read_until(socket, "snapshot")
        await say(socket, "ack")
        return socket


@database_sync_to_async  # type: ignore[untyped-decorator]
def browser_at(web: Web) -> Browser:
    ada = make_person("ada")
    run = make_run(ada, make_dataset(ada), state=RunState.RUNNING, ended=None)
    name = settings.SESSION_COOKIE_NAME
    return Browser(web, run, {name: client_of(ada).cookies[name].value})


async def say(socket: aiohttp.ClientWebSocketResponse, kind: str) -> None:
    await socket.send_json({"type": kind})


async def read_until(socket: aiohttp.ClientWebSocketResponse, kind: str) -> dict[str, Any]:
    while True:
        frame: dict[str, Any] = json.loads(await socket.receive_str(timeout=PATIENCE_SECONDS))
        if frame["type"] == kind:
            return frame


async def read_to_the_end(socket: aiohttp.ClientWebSocketResponse) -> tuple[int | None, str]:
    """The code and the reason with which the server closed it."""
    while True:
        message = await socket.receive(timeout=PATIENCE_SECONDS)
        if message.type is aiohttp.WSMsgType.CLOSE:
            return message.data, message.extra or ""
        if message.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR):
            return socket.close_code, ""


async def until_counted(person: int, sockets: int) -> None:
    """So many sockets of a person are open, as the server counts them."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while shared_redis().zcard(key_of(person)) != sockets:  # noqa: ASYNC110 - Redis tells nobody
            await asyncio.sleep(0.01)
