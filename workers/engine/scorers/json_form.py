"""The answer is JSON, and has the form that a schema asks for.

Where the schema has references or patterns, that is found out in a process of its own.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import orjson
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from workers.engine.json_text import to_json
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, quote
from workers.engine.scorers.schemas import (
    LONGEST_SCHEMA,
    compiled,
    is_plain,
    problem_with_schema,
)

STEPS_PER_CHARACTER = 10
MOST_NAMED = 3  # problems that a reason lists
BLOCK = "```"


def as_text(schema: object) -> object:
    """In YAML and JSON a schema may stand as it is; in a form it is a text."""
    return to_json(schema).decode() if isinstance(schema, Mapping) else schema


Schema = Annotated[
    str,
    BeforeValidator(as_text),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "maxLength": LONGEST_SCHEMA}, {"type": "object"}]}
    ),
]


class Json(Scorer):
    name: ClassVar[str] = "json"
    label: ClassVar[str] = "JSON"
    summary: ClassVar[str] = "The answer is JSON, in the form of your JSON Schema if you give one."
    needs_expected: ClassVar[bool] = False
    compares_answers: ClassVar[bool] = False
    judging_seconds: ClassVar[float] = 2.0

    json_schema: Schema = Field(
        default="",
        max_length=LONGEST_SCHEMA,
        title="JSON Schema",
        description='As in {"type": "object", "required": ["name"]}. Empty: any JSON will do.',
    )
    in_block: bool = Field(
        default=True,
        title="Accept a code block",
        description="It may be in a Markdown code block.",
    )

    @model_validator(mode="after")
    def _has_a_good_schema(self) -> Self:
        if problem := problem_with_schema(self.json_schema):
            raise ValueError(problem)
        return self

    def steps(self, answer: str, case: Case) -> float:
        return steps_of(answer, self.json_schema)

    def judge(self, answer: str, case: Case) -> Judgement:
        wrong = wrong_with(answer, self.json_schema, in_block=self.in_block)
        right = "has the form of the schema" if self.json_schema else "is JSON"
        return self.verdict(not wrong, wrong or right)


def steps_of(answer: str, schema: str) -> float:
    if not is_plain(schema):
        return math.inf
    return STEPS_PER_CHARACTER * len(answer) * (1 + schema.count("{"))


def wrong_with(answer: str, schema: str, *, in_block: bool) -> str:
    """Why the answer is no JSON of this form. Empty: it is."""
    text = without_block(answer) if in_block else answer
    try:
        value = orjson.loads(text.encode("utf-8", "replace"))
    except orjson.JSONDecodeError as error:
        return f"is no JSON ({error}): {quote(answer)}"
    return "; ".join(problems_of(compiled(schema), value))


def problems_of(validator: Any, value: Any) -> list[str]:
    found = []
    for error in validator.iter_errors(value):
        where = ".".join(str(step) for step in error.instance_path)
        found.append(f"{where or 'the whole'}: {error.message}"[:200])
        if len(found) == MOST_NAMED:
            break
    return found


def without_block(text: str) -> str:
    """What is in the first code block, or the text itself."""
    _, opened, rest = text.partition(BLOCK)
    if not opened:
        return text
    head, _, body = rest.partition("\n")
    inside, closed, _ = body.partition(BLOCK)
    is_block = bool(closed) and (not head.strip() or head.strip().isalnum())
    return inside if is_block else text
