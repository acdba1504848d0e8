"""Ollama's own protocol, usually on several servers behind one endpoint."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from workers.engine.calling.embeddings import EMBEDDINGS_PATH
from workers.engine.calling.flaws import flaw_of
from workers.engine.errors import Refused
from workers.engine.messages.contents import images_in
from workers.engine.messages.images import data_of
from workers.engine.messages.tool_calls import openai_calls
from workers.engine.providers.answers import (
    ending_of,
    pick,
    read_json_answer,
    read_vectors,
    said,
    text_of_parts,
    whole_number,
)
from workers.engine.providers.manner import NOTHING
from workers.engine.providers.model_lists import ModelList, ollama_names
from workers.engine.providers.wire import HttpProvider, Written, bearer
from workers.engine.records import Reply, Request

# Fields of the request itself; every other parameter is an option of the model.
OWN_FIELDS = ("model", "format", "keep_alive", "think", "tools")
TRANSLATED = (
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "response_format",
    "stop",
    "stream",
    "options",
    "tool_choice",
)
NO_ADDRESSES = (
    "Ollama takes images as data, not as addresses. Put data:image/png;base64,… into the column, "
    "or leave Ollama's models out."
)
NO_TOOL_CHOICE = (
    "Ollama cannot be told to call a tool, or not to. Leave tool_choice out, or Ollama's models."
)


class Ollama(HttpProvider):
    model_list = ModelList(
        "/api/tags",
        bearer,
        ollama_names,
        "Check that the base URL is the server's address alone, as in http://gpu-1.example:11434.",
    )

    @staticmethod
    def written(request: Request, options: Mapping[str, Any] = NOTHING) -> Written:
        return Written("/api/chat", body_of(request))

    async def send(self, request: Request) -> Reply:
        if request.path == EMBEDDINGS_PATH:
            return await self._embed(request)
        answer = await self._post(*self.written(request))
        read = partial(reply_of, asked=request.body)
        return read_json_answer(answer.body, read, "a chat answer of Ollama")

    async def _embed(self, request: Request) -> Reply:
        answer = await self._post("/api/embed", request.body)
        read = partial(embeddings_of, texts=len(request.body["input"]))
        return read_json_answer(answer.body, read, "a list of embeddings")


def body_of(request: Request) -> dict[str, Any]:
    """Of an OpenAI request. Ollama streams unless told not to."""
    given = request.body
    body = {name: given[name] for name in OWN_FIELDS if name in given}
    body["messages"] = [message_of(message) for message in given["messages"]]
    refuse_tool_choice(given.get("tool_choice"))
    body["stream"] = False
    if options := options_of(given):
        body["options"] = options
    if (wanted := format_of(given.get("response_format"))) is not None:
        body["format"] = wanted
    return body


def message_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Images stand beside the text, as bare base64."""
    translated = {**message, "content": text_of_parts(message["content"])}
    if sources := images_in(message["content"]):
        translated["images"] = [image_data(source) for source in sources]
    return translated


def image_data(source: str) -> str:
    data = data_of(source)
    if data is None:
        raise Refused(NO_ADDRESSES)
    return data.base64


def refuse_tool_choice(choice: Any) -> None:
    """It has none: a model that may choose would be compared with one that must."""
    if choice not in (None, "auto"):
        raise Refused(NO_TOOL_CHOICE)


def options_of(given: Any) -> dict[str, Any]:
    known = (*OWN_FIELDS, *TRANSLATED)
    options = {name: value for name, value in given.items() if name not in known}
    if (most := pick(given, "max_tokens", "max_completion_tokens")) is not None:
        options["num_predict"] = most
    if stop := given.get("stop"):
        options["stop"] = [stop] if isinstance(stop, str) else stop
    return {**options, **(given.get("options") or {})}


def format_of(response_format: Any) -> Any:
    """OpenAI's response format in Ollama's words: "json", or a schema."""
    if not isinstance(response_format, dict):
        return None
    if response_format.get("type") == "json_schema":
        return (response_format.get("json_schema") or {}).get("schema")
    return "json" if response_format.get("type") == "json_object" else None


def reply_of(document: Any, asked: Mapping[str, Any]) -> Reply:
    """Ollama says "stop" of a tool call, too."""
    message = document["message"]
    text, is_call = said(message.get("content") or "", openai_calls(message), asked)
    ending = "tool_calls" if message.get("tool_calls") else ending_of(document.get("done_reason"))
    return Reply(
        text,
        latency_ms=0.0,
        tokens_in=whole_number(document.get("prompt_eval_count")),
        tokens_out=whole_number(document.get("eval_count")),
        flaw=flaw_of(text, ending, is_call=is_call),
        ending=ending,
    )


def embeddings_of(document: Any, texts: int) -> Reply:
    vectors = read_vectors(document["embeddings"], texts)
    return Reply("", 0.0, whole_number(document.get("prompt_eval_count")), 0, vectors=vectors)
