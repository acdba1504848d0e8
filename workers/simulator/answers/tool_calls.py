"""Chooses a tool and fills in its arguments from the words of a prompt, always the same way."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from workers.simulator.records import Call, Tool

DEEPEST = 4  # levels of arguments that are filled in
_word = re.compile(r"[a-z]+")
_name = re.compile(r"(?<=[\w,] )[A-Z]\w*(?: [A-Z]\w*)*|\"[^\"]{1,200}\"")
_number = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?")


def choose_call(tools: Sequence[Tool], text: str) -> Call:
    """The tool whose name, then whose description, shares most words with the prompt; of equals,
    the first."""
    words = set(_word.findall(text.lower()))

    def shared(tool: Tool) -> list[int]:
        told = (tool.name, tool.description)
        return [len(words.intersection(_word.findall(one.lower()))) for one in told]

    tool = max(tools, key=shared)
    found = Found(text)
    return Call(tool.name, found.object(tool.parameters, DEEPEST))


def text_of_call(call: Call) -> str:
    return json.dumps({"name": call.name, "arguments": call.arguments})


class Found:
    """What a prompt offers as arguments: names and numbers, each taken once, in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._names: Iterator[str] = (one.strip('"') for one in _name.findall(text))
        self._numbers: Iterator[str] = iter(_number.findall(text))

    def object(self, schema: Any, depth: int) -> dict[str, Any]:
        """What is required; all of it where the schema does not say what is."""
        properties = schema.get("properties")
        if not isinstance(properties, dict) or depth == 0:
            return {}
        required = schema.get("required")
        wanted = required if isinstance(required, list) else list(properties)
        return {
            name: self._value(inner, depth - 1)
            for name, inner in properties.items()
            if name in wanted and isinstance(inner, dict)
        }

    def _value(self, schema: dict[str, Any], depth: int) -> Any:
        choices = schema.get("enum")
        if isinstance(choices, list) and choices:
            lower = self._text.lower()
            return next((one for one in choices if str(one).lower() in lower), choices[0])
        kind = schema.get("type")
        if kind in ("integer", "number"):
            number = float(next(self._numbers, "0"))
            return int(number) if kind == "integer" or number == int(number) else number
        if kind == "boolean":
            return True
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            items = schema.get("items")
            return [self._value(items, depth - 1)] if isinstance(items, dict) and depth else []
        return next(self._names, "") or self._longest_word()

    def _longest_word(self) -> str:
        return max(re.findall(r"\w+", self._text), key=len, default="")
