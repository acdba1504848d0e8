"""Reads and checks the fields of a request body; a wrong one is refused by its name."""

import json
from typing import Any

from workers.simulator.records import Json, Refusal, RefusedError


def refuse(message: str, param: str | None = None, status: int = 400) -> RefusedError:
    return RefusedError(Refusal(status, message, param=param))


def read_json(body: bytes) -> Json:
    """The JSON object of a request body."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise refuse(f"We could not parse the JSON body of your request: {problem}") from None
    if not isinstance(parsed, dict):
        raise refuse('The body of your request must be a JSON object, such as {"model": ...}.')
    return parsed


def read_text(body: Json, name: str, default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str):
        raise refuse(f"'{name}' must be a string, not {_shown(value)}.", name)
    return value


def read_texts(body: Json, name: str) -> tuple[str, ...]:
    """A string, or a list of strings that is not empty."""
    value = body.get(name)
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not value or not all(isinstance(t, str) for t in value):
        raise refuse(f"'{name}' must be a string or a list of strings, not {_shown(value)}.", name)
    return tuple(value)


def read_integer(body: Json, name: str, least: int, most: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise refuse(
            f"'{name}' must be an integer from {least} to {most}, not {_shown(value)}.", name
        )
    return value


def read_variant(parameters: Json) -> str:
    """Answers vary only by a seed in the body, and only above temperature 0."""
    temperature = parameters.get("temperature")
    if temperature is None:
        temperature = 1.0
    if not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
        raise refuse(
            f"'temperature' must be a number from 0 to 2, not {_shown(temperature)}.", "temperature"
        )
    seed = read_integer(parameters, "seed", -(2**63), 2**63)
    return "" if seed is None or temperature == 0 else f"seed {seed}"


def read_messages(body: Json) -> list[tuple[str, str]]:
    """The (role, text) pairs of a chat."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise refuse("'messages' must be a list of at least one message.", "messages")
    return [_read_message(message, place) for place, message in enumerate(messages)]


def _read_message(message: Any, place: int) -> tuple[str, str]:
    param = f"messages[{place}]"
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise refuse(f"'{param}' must be an object with a role and a content.", param)
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "\n".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str | None):
        raise refuse(f"'{param}.content' must be a string, not {_shown(content)}.", param)
    return message["role"], content or ""


def _shown(value: object) -> str:
    """A value as the client wrote it, cut short."""
    shown = "nothing" if value is None else json.dumps(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
