"""Endpoints that speak the OpenAI protocol, the simulated provider among them."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import Field

from workers.engine.calling.embeddings import EMBEDDINGS_PATH
from workers.engine.calling.flaws import flaw_of
from workers.engine.messages.tool_calls import openai_calls
from workers.engine.providers.answers import (
    ending_of,
    read_json_answer,
    read_vectors,
    said,
    whole_number,
)
from workers.engine.providers.manner import NOTHING, ProviderOptions
from workers.engine.providers.model_lists import VERSIONED, ModelList, openai_names
from workers.engine.providers.told_limits import read_told_limits
from workers.engine.providers.wire import HttpProvider, Written, bearer
from workers.engine.records import Reply, Request, ToldLimits

Word = Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9._-]*$")]


class OpenAIOptions(ProviderOptions):
    organization: Word = Field(
        default="",
        title="Organisation",
        description="Of OpenAI, as in org-…: sent as OpenAI-Organization. Empty: the key's own.",
    )
    project: Word = Field(
        default="",
        title="Project",
        description="Of OpenAI, as in proj_…: sent as OpenAI-Project. Empty: the key's own.",
    )


class OpenAI(HttpProvider):
    model_list = ModelList("/models", bearer, openai_names, VERSIONED)
    options_model: ClassVar[type[ProviderOptions]] = OpenAIOptions

    @staticmethod
    def option_headers(options: Mapping[str, Any]) -> dict[str, str]:
        named = {
            "OpenAI-Organization": options.get("organization"),
            "OpenAI-Project": options.get("project"),
        }
        return {name: value for name, value in named.items() if value}

    @staticmethod
    def written(request: Request, options: Mapping[str, Any] = NOTHING) -> Written:
        return Written(request.path, body_of(request))

    async def send(self, request: Request) -> Reply:
        answer = await self._post(*self.written(request, self._options))
        told = read_told_limits(answer.headers)
        if request.path == EMBEDDINGS_PATH:
            read = partial(embeddings_of, texts=len(request.body["input"]), told=told)
            return read_json_answer(answer.body, read, "a list of embeddings")
        read = partial(reply_of, told=told, asked=request.body)
        return read_json_answer(answer.body, read, "a chat completion")


def body_of(request: Request) -> Mapping[str, Any]:
    """Requests are written in this form already."""
    return request.body


def reply_of(document: Any, told: ToldLimits | None, asked: Mapping[str, Any]) -> Reply:
    choice = document["choices"][0]
    message = choice.get("message") or {"content": choice["text"]}
    refusal = message.get("refusal")
    text, is_call = said(content_of(message) or refusal or "", openai_calls(message), asked)
    ending = "refusal" if refusal else ending_of(choice.get("finish_reason"))
    usage = document.get("usage") or {}
    return Reply(
        text,
        latency_ms=0.0,
        tokens_in=whole_number(usage.get("prompt_tokens")),
        tokens_out=whole_number(usage.get("completion_tokens")),
        told=told,
        flaw=flaw_of(text, ending, is_call=is_call),
        ending=ending,
    )


def content_of(message: Any) -> str | None:
    """None with a tool call, where some servers leave it out."""
    calls = message.get("tool_calls") or message.get("function_call")
    content: str | None = message.get("content") if calls else message["content"]
    return content


def embeddings_of(document: Any, texts: int, told: ToldLimits | None) -> Reply:
    rows = sorted(document["data"], key=lambda row: int(row["index"]))
    vectors = read_vectors([row["embedding"] for row in rows], texts)
    tokens_in = whole_number((document.get("usage") or {}).get("prompt_tokens"))
    return Reply("", 0.0, tokens_in, 0, told=told, vectors=vectors)
