"""Endpoints that speak Anthropic's messages protocol."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from workers.engine.calling.embeddings import EMBEDDINGS_PATH
from workers.engine.calling.flaws import flaw_of
from workers.engine.errors import Refused
from workers.engine.messages.contents import image_of
from workers.engine.messages.images import data_of
from workers.engine.messages.tool_calls import anthropic_calls
from workers.engine.providers.answers import (
    ending_of,
    pick,
    read_json_answer,
    said,
    text_of_parts,
    whole_number,
)
from workers.engine.providers.manner import NOTHING
from workers.engine.providers.model_lists import VERSIONED, ModelList, openai_names
from workers.engine.providers.told_limits import read_told_limits
from workers.engine.providers.wire import HttpProvider, Written
from workers.engine.records import Reply, Request, ToldLimits

NO_EMBEDDINGS = (
    "Anthropic offers no embeddings. Choose a model of an endpoint that does: Ollama, or one that "
    "speaks the OpenAI protocol."
)
VERSION = "2023-06-01"  # of the protocol; the newest there is
DEFAULT_MAX_TOKENS = 1024  # the protocol demands a number; parameters give another
SYSTEM_ROLES = ("system", "developer")
TRANSLATED = (
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "tools",
    "tool_choice",
)
INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def key_headers(key: str) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


class Anthropic(HttpProvider):
    model_list = ModelList("/models?limit=1000", key_headers, openai_names, VERSIONED)
    key_headers = staticmethod(key_headers)

    @staticmethod
    def written(request: Request, options: Mapping[str, Any] = NOTHING) -> Written:
        return Written("/messages", body_of(request))

    async def send(self, request: Request) -> Reply:
        if request.path == EMBEDDINGS_PATH:
            raise Refused(NO_EMBEDDINGS)
        answer = await self._post(*self.written(request))
        read = partial(reply_of, told=read_told_limits(answer.headers), asked=request.body)
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
    body["messages"] = [
        {**message, "content": content_of(message["content"])}
        for message in given["messages"]
        if message["role"] not in SYSTEM_ROLES
    ]
    body["max_tokens"] = pick(given, "max_tokens", "max_completion_tokens") or DEFAULT_MAX_TOKENS
    if system:
        body["system"] = "\n\n".join(system)
    if stop := given.get("stop"):
        body["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if tools := given.get("tools"):
        body["tools"] = [tool_of(tool) for tool in tools]
    if choice := given.get("tool_choice"):
        body["tool_choice"] = choice_of(choice)
    return body


def content_of(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [image_block(source) if (source := image_of(part)) else part for part in content]


def image_block(source: str) -> dict[str, Any]:
    data = data_of(source)
    if data is None:
        return {"type": "image", "source": {"type": "url", "url": source}}
    encoded = {"type": "base64", "media_type": data.media_type, "data": data.base64}
    return {"type": "image", "source": encoded}


def tool_of(tool: Any) -> Any:
    """One in Anthropic's own form, as a model's parameters may give it, stays as it is."""
    if tool.get("type") != "function" or "function" not in tool:
        return tool
    function = dict(tool["function"])
    return {"input_schema": function.pop("parameters", {"type": "object"}), **function}


def choice_of(choice: Any) -> Any:
    if isinstance(choice, str):
        return {"type": "any" if choice == "required" else choice}
    if choice.get("type") == "function":
        return {"type": "tool", "name": choice["function"]["name"]}
    return choice


def reply_of(document: Any, told: ToldLimits | None, asked: Mapping[str, Any]) -> Reply:
    usage = document.get("usage") or {}
    content = document["content"]
    text, is_call = said(text_of_parts(content), anthropic_calls(content), asked)
    ending = ending_of(document.get("stop_reason"))
    return Reply(
        text,
        latency_ms=0.0,
        tokens_in=_input_tokens(usage),
        tokens_out=whole_number(usage.get("output_tokens")),
        told=told,
        flaw=flaw_of(text, ending, is_call=is_call),
        ending=ending,
    )


def _input_tokens(usage: dict[str, Any]) -> int | None:
    """With what the provider's own cache took and gave, as OpenAI counts."""
    if whole_number(usage.get("input_tokens")) is None:
        return None
    return sum(whole_number(usage.get(name)) or 0 for name in INPUT_COUNTS)
