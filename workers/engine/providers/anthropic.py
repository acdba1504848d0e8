"""Endpoints that speak Anthropic's messages protocol."""

from functools import partial
from typing import Any

from workers.engine.calling.embeddings import EMBEDDINGS_PATH
from workers.engine.calling.flaws import flaw_of
from workers.engine.errors import Refused
from workers.engine.providers.answers import (
    clean_text,
    ending_of,
    pick,
    read_json_answer,
    text_of_parts,
    whole_number,
)
from workers.engine.providers.model_lists import VERSIONED, ModelList, openai_names
from workers.engine.providers.told_limits import read_told_limits
from workers.engine.providers.wire import HttpProvider
from workers.engine.records import Reply, Request, ToldLimits

NO_EMBEDDINGS = (
    "Anthropic offers no embeddings. Choose a model of an endpoint that does: Ollama, or one that "
    "speaks the OpenAI protocol."
)
VERSION = "2023-06-01"  # of the protocol; the newest there is
DEFAULT_MAX_TOKENS = 1024  # the protocol demands a number; parameters give another
SYSTEM_ROLES = ("system", "developer")
TRANSLATED = ("messages", "max_tokens", "max_completion_tokens", "stop")
INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def key_headers(key: str) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


class Anthropic(HttpProvider):
    model_list = ModelList("/models?limit=1000", key_headers, openai_names, VERSIONED)
    key_headers = staticmethod(key_headers)

    async def send(self, request: Request) -> Reply:
        if request.path == EMBEDDINGS_PATH:
            raise Refused(NO_EMBEDDINGS)
        answer = await self._post("/messages", body_of(request))
        read = partial(reply_of, told=read_told_limits(answer.headers))
        return read_json_answer(answer.body, read, "a message")


def body_of(request: Request) -> dict[str, Any]:
    """Of an OpenAI request. Parameters we do not know go as they are: the provider judges them."""
    given = request.body
    system = [
        text_of_parts(message["content"])
        for message in given["messages"]
        if message["role"] in SYSTEM_ROLES
    ]
    body = {name: value for name, value in given.items() if name not in TRANSLATED}
    body["messages"] = [m for m in given["messages"] if m["role"] not in SYSTEM_ROLES]
    body["max_tokens"] = pick(given, "max_tokens", "max_completion_tokens") or DEFAULT_MAX_TOKENS
    if system:
        body["system"] = "\n\n".join(system)
    if stop := given.get("stop"):
        body["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    return body


def reply_of(document: Any, told: ToldLimits | None) -> Reply:
    usage = document.get("usage") or {}
    text = clean_text(text_of_parts(document["content"]))
    ending = ending_of(document.get("stop_reason"))
    return Reply(
        text,
        latency_ms=0.0,
        tokens_in=_input_tokens(usage),
        tokens_out=whole_number(usage.get("output_tokens")),
        told=told,
        flaw=flaw_of(text, ending),
        ending=ending,
    )


def _input_tokens(usage: dict[str, Any]) -> int | None:
    """With what the provider's own cache took and gave, as OpenAI counts."""
    if whole_number(usage.get("input_tokens")) is None:
        return None
    return sum(whole_number(usage.get(name)) or 0 for name in INPUT_COUNTS)
