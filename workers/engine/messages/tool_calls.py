"""A tool call as the text that is scored: one JSON text, whatever the provider's form."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from workers.engine.json_text import to_json
from workers.engine.spec.depth import is_too_deep


class ToolCall(NamedTuple):
    name: str
    arguments: Any  # an object; a text where the model wrote no JSON


def declares_tools(body: Mapping[str, Any]) -> bool:
    """Whether a call of a tool is an answer to this request."""
    return bool(body.get("tools") or body.get("functions"))


def call_text(calls: Sequence[ToolCall]) -> str:
    """`{"name":"look_up","arguments":{"city":"Rome"}}`, with sorted keys, so that equal calls are
    equal texts; of several calls a list, in their order."""
    texts = [_text_of(call) for call in calls]
    return texts[0] if len(texts) == 1 else f"[{','.join(texts)}]"


def _text_of(call: ToolCall) -> str:
    name, arguments = (to_json(part).decode() for part in call)
    return f'{{"name":{name},"arguments":{arguments}}}'


def arguments_of(given: Any) -> Any:
    """OpenAI sends JSON in a text, which a model may have got wrong; others an object."""
    if not isinstance(given, str):
        return given if given is not None else {}
    if not given.strip():
        return {}
    try:
        return orjson.loads(given)
    except orjson.JSONDecodeError:
        return given


def openai_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """Of OpenAI's form, which Ollama shares."""
    found = [call["function"] for call in message.get("tool_calls") or ()]
    if not found and message.get("function_call"):
        found = [message["function_call"]]  # the form before there were several
    return [ToolCall(str(one["name"]), arguments_of(one.get("arguments"))) for one in found]


def anthropic_calls(content: Any) -> list[ToolCall]:
    return [
        ToolCall(str(block["name"]), arguments_of(block.get("input")))
        for block in content
        if block.get("type") == "tool_use"
    ]


def read_calls(text: str) -> list[ToolCall] | None:
    """The calls that a text says, ours or a person's. None: it says none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if is_too_deep(found):
        return None
    calls = found if isinstance(found, list) else [found]
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in calls):
        return None
    return [ToolCall(one["name"], arguments_of(one.get("arguments"))) for one in calls]
