"""What the tests of the simulated provider say to it."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import aiohttp

from tests.harness.patience import PATIENCE_SECONDS

CHAT = "/v1/chat/completions"


class Answered(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def text(self) -> str:
        text: str = self.body["choices"][0]["message"]["content"]
        return text


def chat(user: str, system: str = "", model: str = "sim-small", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": user}]
    if system:
        messages.insert(0, {"role": "system", "content": system})
    return {"model": model, "messages": messages, **more}


async def post(client: aiohttp.ClientSession, path: str, body: dict[str, Any]) -> Answered:
    async with client.post(path, json=body) as response:
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answered(response.status, await response.json(content_type=None), headers)


async def ask(client: aiohttp.ClientSession, user: str, **more: Any) -> Answered:
    return await post(client, CHAT, chat(user, **more))


async def ask_all(client: aiohttp.ClientSession, bodies: list[dict[str, Any]]) -> list[Answered]:
    """All at once, as many as there are."""
    return await asyncio.gather(*(post(client, CHAT, body) for body in bodies))


async def until(condition: Callable[[], bool]) -> None:
    """Waits for something the server does by itself, such as noticing that a client has left."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.005)
