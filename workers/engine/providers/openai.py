"""Endpoints that speak the OpenAI protocol, the simulated provider among them."""

import json
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from workers.engine.errors import (
    BadCredentials,
    CallError,
    MalformedAnswer,
    RateLimited,
    Refused,
    ServerError,
)
from workers.engine.providers.http import Answer, post
from workers.engine.providers.retry_after import read_retry_after
from workers.engine.records import Reply, Request

MESSAGE_CHARACTERS = 300


class OpenAI:
    def __init__(
        self, client: aiohttp.ClientSession, kind: str, base_url: str, api_key: str = ""
    ) -> None:
        self._client = client
        self._base_url = base_url.rstrip("/")
        self._key = api_key
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self.service = service_name(kind, base_url)

    async def send(self, request: Request) -> Reply:
        body = json.dumps(request.body).encode()
        answer = await post(self._client, self._base_url + request.path, body, self._headers)
        if answer.status != 200:
            raise self._error(answer)
        return read_reply(answer.body)

    def _error(self, answer: Answer) -> CallError:
        message = f"{answer.status}: {self._clean(error_message(answer.body))}"
        if answer.status == 429:
            return RateLimited(message, read_retry_after(answer.headers))
        if answer.status in (401, 403):
            return BadCredentials(message)
        if answer.status >= 500 or answer.status == 408:
            return ServerError(message)
        return Refused(message)

    def _clean(self, message: str) -> str:
        """A provider may echo the key in its error; it must not reach a page or a row."""
        if self._key:
            message = message.replace(self._key, "[key]")
        return clean_text(message)[:MESSAGE_CHARACTERS]


def service_name(kind: str, base_url: str) -> str:
    """Kind and host. The simulated provider gives the same answers wherever it was started."""
    return kind if kind == "simulated" else f"{kind} {urlsplit(base_url).netloc}"


def error_message(body: bytes) -> str:
    """What the provider said, whatever it sent."""
    try:
        error = json.loads(body)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError, RecursionError):
        return body[: MESSAGE_CHARACTERS * 4].decode("utf-8", "replace") or "no message"


def read_reply(body: bytes) -> Reply:
    try:
        document = json.loads(body)
        choice = document["choices"][0]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        usage = document.get("usage") or {}
        reply = Reply(
            clean_text(text or ""),
            latency_ms=0.0,
            tokens_in=whole_number(usage.get("prompt_tokens")),
            tokens_out=whole_number(usage.get("completion_tokens")),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedAnswer(
            f"Not a chat completion ({type(error).__name__}), {len(body):,} bytes."
        ) from None
    return reply


def clean_text(text: str) -> str:
    """Text that any database stores: no NUL, no half surrogates."""
    if not text.isprintable() and "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
    return text


def whole_number(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if is_count else None
