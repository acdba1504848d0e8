"""Ollama's API: reads its request bodies, writes its answers, streams and errors."""

import json
from datetime import UTC, datetime
from typing import Any

from workers.simulator.answers.embeddings import DEFAULT_DIMENSIONS, MOST_DIMENSIONS
from workers.simulator.answers.seeded import counted
from workers.simulator.answers.tokens import count_message_tokens, count_tokens
from workers.simulator.models import MODELS
from workers.simulator.protocols.message_parts import read_images, read_tools, text_of_tools
from workers.simulator.protocols.openai_routes import MOST_TOKENS, NO_CALL, words_with_spaces
from workers.simulator.protocols.reading import (
    read_integer,
    read_messages,
    read_text,
    read_texts,
    read_variant,
    refuse,
)
from workers.simulator.records import Answer, Ask, Json, Refusal, Reply, Route

MODELS_MODIFIED = "2024-01-01T00:00:00Z"  # a fixed date, so that two servers list the same
NANOSECONDS = 1_000_000_000


def read_chat(body: Json) -> Ask:
    messages, images = read_messages(body), read_images(body)
    texts = [*(text for _, text in messages), *text_of_tools(body)]
    users = [text for role, text in messages if role == "user"]
    return Ask(
        model=read_text(body, "model"),
        prompts=(users[-1] if users else messages[-1][1],),
        tokens_in=count_message_tokens(texts, len(images)),
        system="\n".join(text for role, text in messages if role == "system"),
        images=images,
        tools=read_tools(body),
        **_read_common(body),
    )


def read_generate(body: Json) -> Ask:
    prompt, system = read_text(body, "prompt", ""), read_text(body, "system", "")
    return Ask(
        model=read_text(body, "model"),
        prompts=(prompt,),
        tokens_in=count_tokens(prompt) + count_tokens(system),
        system=system,
        **_read_common(body),
    )


def _read_common(body: Json) -> dict[str, Any]:
    options = body.get("options") or {}
    if not isinstance(options, dict):
        raise refuse("'options' must be an object, such as {\"temperature\": 0}.", "options")
    return {
        "stream": body.get("stream") is not False,  # Ollama streams unless told not to
        "variant": read_variant(options),
        "max_tokens": read_integer(options, "num_predict", 1, MOST_TOKENS),
    }


def read_embed(body: Json) -> Ask:
    inputs = read_texts(body, "input")
    return Ask(
        model=read_text(body, "model"),
        prompts=inputs,
        tokens_in=sum(map(count_tokens, inputs)),
        dimensions=read_integer(body, "dimensions", 1, MOST_DIMENSIONS) or DEFAULT_DIMENSIONS,
    )


def write_chat(ask: Ask, answer: Answer) -> Reply:
    called: dict[str, Any] = {}
    if answer.ending == "tool_calls":  # the only other ending that it has a word for
        called = {"tool_calls": [{"function": (answer.call or NO_CALL)._asdict()}]}
    return _write_text(
        ask, answer, lambda text: {"message": {"role": "assistant", "content": text, **called}}
    )


def write_generate(ask: Ask, answer: Answer) -> Reply:
    return _write_text(ask, answer, lambda text: {"response": text})


def write_embed(ask: Ask, answer: Answer) -> Reply:
    body = {
        "model": ask.model,
        "embeddings": list(answer.vectors),
        "total_duration": int(answer.seconds * NANOSECONDS),
        "load_duration": 0,
        "prompt_eval_count": ask.tokens_in,
    }
    return Reply(200, json.dumps(body).encode())


def write_refusal(refusal: Refusal) -> Reply:
    return Reply(
        refusal.status, json.dumps({"error": refusal.message}).encode(), headers=refusal.headers
    )


def list_tags() -> Reply:
    models = [
        {
            "name": f"{name}:latest",
            "model": f"{name}:latest",
            "modified_at": MODELS_MODIFIED,
            "size": 0,
            "digest": f"{counted(name):016x}" * 4,
            "details": {
                "parent_model": "",
                "format": "simulated",
                "family": "sim",
                "families": ["sim"],
                "parameter_size": model.parameters,
                "quantization_level": "none",
            },
        }
        for name, model in MODELS.items()
    ]
    return Reply(200, json.dumps({"models": models}).encode())


def _write_text(ask: Ask, answer: Answer, frame: Any) -> Reply:
    created = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    head = {"model": ask.model, "created_at": created}
    last = {"done": True, "done_reason": "length" if answer.is_cut[0] else "stop"}
    ending = last | _counts(ask, answer)
    text = answer.texts[0]
    if not ask.stream:
        return Reply(200, json.dumps(head | frame(text) | ending).encode())
    lines = [head | frame(word) | {"done": False} for word in words_with_spaces(text)]
    lines.append(head | frame("") | ending)
    pieces = tuple(f"{json.dumps(line)}\n".encode() for line in lines)
    return Reply(200, b"", content_type="application/x-ndjson", pieces=pieces)


def _counts(ask: Ask, answer: Answer) -> dict[str, int]:
    total = int(answer.seconds * NANOSECONDS)
    return {
        "total_duration": total,
        "load_duration": 0,
        "prompt_eval_count": ask.tokens_in,
        "prompt_eval_duration": total // 5,  # reading is the smaller part of the work
        "eval_count": answer.tokens_out,
        "eval_duration": total - total // 5,
    }


OLLAMA_ROUTES: dict[str, Route] = {
    route.path: route
    for route in (
        Route("/api/chat", "chat", read_chat, write_chat, write_refusal),
        Route("/api/generate", "chat", read_generate, write_generate, write_refusal),
        Route("/api/embed", "embedding", read_embed, write_embed, write_refusal),
    )
}
