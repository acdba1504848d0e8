"""Anthropic's messages API: reads its request bodies, writes its answers and errors."""

import json
from typing import Any

from workers.simulator.answers.tokens import count_message_tokens
from workers.simulator.protocols.message_parts import read_images, read_tools, text_of_tools
from workers.simulator.protocols.openai_routes import MOST_TOKENS, NO_CALL
from workers.simulator.protocols.reading import (
    read_integer,
    read_messages,
    read_text,
    read_variant,
    refuse,
)
from workers.simulator.records import Answer, Ask, Headers, Json, Refusal, Reply, Route

ROLES = ("user", "assistant")
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read_message(body: Json) -> Ask:
    messages = read_messages(body)
    for place, (role, _) in enumerate(messages):
        if role not in ROLES:
            raise refuse(f"messages.{place}.role: must be user or assistant; system is a field.")
    limit = read_integer(body, "max_tokens", 1, MOST_TOKENS)
    if limit is None:
        raise refuse("max_tokens: Field required", "max_tokens")
    if body.get("stream"):
        raise refuse("The simulated provider does not stream here. Leave 'stream' out.", "stream")
    system = read_text(body, "system", "")
    users = [text for role, text in messages if role == "user"]
    texts, images = [text for _, text in messages], read_images(body)
    counted = [*texts, *([system] if system else []), *text_of_tools(body)]
    return Ask(
        model=read_text(body, "model"),
        prompts=(users[-1] if users else texts[-1],),
        tokens_in=count_message_tokens(counted, len(images)),
        system=system,
        variant=read_variant(body),
        max_tokens=limit,
        images=images,
        tools=read_tools(body),
    )


def write_message(ask: Ask, answer: Answer) -> Reply:
    body = {
        "id": f"msg_{answer.identity:016x}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": _content(answer),
        "stop_reason": _stop_reason(answer),
        "stop_sequence": None,
        "usage": {"input_tokens": ask.tokens_in, "output_tokens": answer.tokens_out},
    }
    return Reply(200, json.dumps(body).encode())


def _content(answer: Answer) -> list[dict[str, Any]]:
    if answer.ending == "tool_calls":
        call = answer.call or NO_CALL
        return [{"type": "tool_use", "id": "toolu_1", "name": call.name, "input": call.arguments}]
    return [{"type": "text", "text": answer.texts[0]}] if answer.texts[0] else []


def _stop_reason(answer: Answer) -> str:
    if answer.ending:
        return "tool_use" if answer.ending == "tool_calls" else "refusal"
    return "max_tokens" if answer.is_cut[0] else "end_turn"


def write_refusal(refusal: Refusal) -> Reply:
    kind = KINDS.get(refusal.status, "api_error")
    error = {"type": "error", "error": {"type": kind, "message": refusal.message}}
    body = json.dumps(error).encode()
    return Reply(refusal.status, body, headers=rename_limits(refusal.headers))


def rename_limits(headers: Headers) -> Headers:
    """x-ratelimit-limit-requests is anthropic-ratelimit-requests-limit here."""
    return tuple((_renamed(name), value) for name, value in headers)


def _renamed(name: str) -> str:
    if not name.startswith("x-ratelimit-"):
        return name
    figure, _, counted = name.removeprefix("x-ratelimit-").partition("-")
    return f"anthropic-ratelimit-{counted}-{figure}"


ANTHROPIC_ROUTES: dict[str, Route] = {
    "/v1/messages": Route(
        "/v1/messages", "chat", read_message, write_message, write_refusal, rename_limits
    )
}
