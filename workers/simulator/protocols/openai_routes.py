"""OpenAI's API: reads its request bodies, writes its answers, streams and errors."""

import json
import struct
import time
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from workers.simulator.answers.embeddings import DEFAULT_DIMENSIONS, MOST_DIMENSIONS
from workers.simulator.answers.tokens import count_message_tokens, count_tokens
from workers.simulator.models import MODELS
from workers.simulator.protocols.message_parts import read_images, read_tools, text_of_tools
from workers.simulator.protocols.reading import (
    read_integer,
    read_messages,
    read_text,
    read_texts,
    read_variant,
)
from workers.simulator.records import Answer, Ask, Call, Json, Refusal, Reply, Route

MOST_CHOICES = 16
MOST_TOKENS = 1_000_000
NO_CALL = Call("look_up", {})  # what a model calls where it is told to, and no tools are given
MODELS_CREATED = 1_700_000_000  # a fixed date, so that two servers list the same


def read_chat(body: Json) -> Ask:
    messages, images = read_messages(body), read_images(body)
    texts = [*(text for _, text in messages), *text_of_tools(body)]
    users = [text for role, text in messages if role == "user"]
    return Ask(
        model=read_text(body, "model"),
        prompts=(users[-1] if users else messages[-1][1],),
        tokens_in=count_message_tokens(texts, len(images)),
        system="\n".join(text for role, text in messages if role in ("system", "developer")),
        images=images,
        tools=read_tools(body),
        **_read_common(body, "max_completion_tokens"),
    )


def read_completion(body: Json) -> Ask:
    prompts = read_texts(body, "prompt")
    return Ask(
        model=read_text(body, "model"),
        prompts=prompts,
        tokens_in=sum(map(count_tokens, prompts)),
        **_read_common(body, "max_tokens"),
    )


def _read_common(body: Json, tokens_name: str) -> dict[str, Any]:
    options = body.get("stream_options")
    limit = read_integer(body, tokens_name, 1, MOST_TOKENS)
    return {
        "stream": body.get("stream") is True,
        "stream_usage": isinstance(options, dict) and options.get("include_usage") is True,
        "variant": read_variant(body),
        "choices": read_integer(body, "n", 1, MOST_CHOICES) or 1,
        "max_tokens": limit or read_integer(body, "max_tokens", 1, MOST_TOKENS),
    }


def read_embeddings(body: Json) -> Ask:
    inputs = read_texts(body, "input")
    return Ask(
        model=read_text(body, "model"),
        prompts=inputs,
        tokens_in=sum(map(count_tokens, inputs)),
        dimensions=read_integer(body, "dimensions", 1, MOST_DIMENSIONS) or DEFAULT_DIMENSIONS,
        base64=body.get("encoding_format") == "base64",
    )


def write_chat(ask: Ask, answer: Answer) -> Reply:
    head = _head("chatcmpl", "chat.completion", ask, answer)
    if ask.stream:
        head["object"] = "chat.completion.chunk"
        return _write_stream(head, _chat_deltas(answer), ask, answer)
    choices = [
        {
            "index": place,
            "message": _message(text, answer),
            "logprobs": None,
            "finish_reason": _finish_reason(answer, place),
        }
        for place, text in enumerate(answer.texts)
    ]
    return _write_json({**head, "choices": choices, "usage": _usage(ask, answer)})


def write_completion(ask: Ask, answer: Answer) -> Reply:
    head = _head("cmpl", "text_completion", ask, answer)
    if ask.stream:
        return _write_stream(head, _completion_deltas(answer), ask, answer)
    choices = [
        _completion_choice(place, text, _finish_reason(answer, place))
        for place, text in enumerate(answer.texts)
    ]
    return _write_json({**head, "choices": choices, "usage": _usage(ask, answer)})


def write_embeddings(ask: Ask, answer: Answer) -> Reply:
    data = [
        {
            "object": "embedding",
            "index": place,
            "embedding": _pack(vector) if ask.base64 else vector,
        }
        for place, vector in enumerate(answer.vectors)
    ]
    usage = {"prompt_tokens": ask.tokens_in, "total_tokens": ask.tokens_in}
    return _write_json({"object": "list", "data": data, "model": ask.model, "usage": usage})


def write_refusal(refusal: Refusal) -> Reply:
    error = {
        "message": refusal.message,
        "type": refusal.kind,
        "param": refusal.param,
        "code": refusal.code,
    }
    return Reply(refusal.status, json.dumps({"error": error}).encode(), headers=refusal.headers)


def list_models() -> Reply:
    data = [
        {"id": name, "object": "model", "created": MODELS_CREATED, "owned_by": "simulator"}
        for name in MODELS
    ]
    return _write_json({"object": "list", "data": data})


def _head(prefix: str, kind: str, ask: Ask, answer: Answer) -> dict[str, Any]:
    return {
        "id": f"{prefix}-{answer.identity:016x}",
        "object": kind,
        "created": int(time.time()),
        "model": ask.model,
        "system_fingerprint": "fp_simulated",
    }


def _usage(ask: Ask, answer: Answer) -> dict[str, int]:
    return {
        "prompt_tokens": ask.tokens_in,
        "completion_tokens": answer.tokens_out,
        "total_tokens": ask.tokens_in + answer.tokens_out,
    }


def _message(text: str, answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if answer.ending == "refusal":
        message |= {"content": None, "refusal": text}
    if answer.ending == "tool_calls":
        message |= {"content": None, "tool_calls": _tool_calls(answer)}
    return message


def _tool_calls(answer: Answer) -> list[dict[str, Any]]:
    name, arguments = answer.call or NO_CALL
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [{"index": 0, "id": "call_1", "type": "function", "function": function}]


def _finish_reason(answer: Answer, place: int) -> str:
    if answer.ending in ("content_filter", "tool_calls"):  # a refusal is a message of its own
        return answer.ending
    return "length" if answer.is_cut[place] else "stop"


def _completion_choice(place: int, text: str, finish_reason: str | None) -> dict[str, Any]:
    return {"index": place, "text": text, "logprobs": None, "finish_reason": finish_reason}


def _chat_deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    """The choices of a chat stream: the role, the words, and why it ended."""

    def choice(place: int, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"index": place, "delta": delta, "logprobs": None, "finish_reason": reason}

    for place, text in enumerate(answer.texts):
        yield choice(place, {"role": "assistant", "content": ""})
        for word in words_with_spaces(text):
            yield choice(place, {"content": word})
        if answer.ending == "tool_calls":
            yield choice(place, {"tool_calls": _tool_calls(answer)})
        yield choice(place, {}, _finish_reason(answer, place))


def _completion_deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    for place, text in enumerate(answer.texts):
        for word in words_with_spaces(text):
            yield _completion_choice(place, word, None)
        yield _completion_choice(place, "", _finish_reason(answer, place))


def words_with_spaces(text: str) -> Iterator[str]:
    """The words of a text, each with the space before it: joined they give the text again."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + 1)
        end = len(text) if end == -1 else end
        yield text[start:end]
        start = end


def _write_stream(
    head: dict[str, Any], choices: Iterator[dict[str, Any]], ask: Ask, answer: Answer
) -> Reply:
    chunks: list[dict[str, Any]] = [{**head, "choices": [choice]} for choice in choices]
    if ask.stream_usage:
        chunks.append({**head, "choices": [], "usage": _usage(ask, answer)})
    events = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    events.append(b"data: [DONE]\n\n")
    return Reply(200, b"", content_type="text/event-stream", pieces=tuple(events))


def _pack(vector: list[float]) -> str:
    return b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _write_json(body: dict[str, Any]) -> Reply:
    return Reply(200, json.dumps(body).encode())


OPENAI_ROUTES: dict[str, Route] = {
    route.path: route
    for route in (
        Route("/v1/chat/completions", "chat", read_chat, write_chat, write_refusal),
        Route("/v1/completions", "chat", read_completion, write_completion, write_refusal),
        Route("/v1/embeddings", "embedding", read_embeddings, write_embeddings, write_refusal),
    )
}
