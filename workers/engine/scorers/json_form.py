"""The answer is JSON, and has the form that a schema asks for.

The schema is read by a library in Rust: its patterns cannot backtrack, and it fetches nothing.
"""

from functools import lru_cache
from typing import Any, ClassVar, Self

import jsonschema_rs
import orjson
from pydantic import Field, model_validator

from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, quote

LONGEST_SCHEMA = 50_000  # characters
STEPS_PER_CHARACTER = 10
SCHEMAS_KEPT = 64
MOST_NAMED = 3  # problems that an explanation lists
BLOCK = "```"


class Json(Scorer):
    name: ClassVar[str] = "json"
    summary: ClassVar[str] = "The answer is JSON, in the form of your JSON Schema if you give one."
    needs_expected: ClassVar[bool] = False

    json_schema: str = Field(
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
        compiled(self.json_schema)
        return self

    def steps(self, answer: str, case: Case) -> float:
        return STEPS_PER_CHARACTER * len(answer) * (1 + self.json_schema.count("{"))

    def judge(self, answer: str, case: Case) -> Judgement:
        text = without_block(answer) if self.in_block else answer
        try:
            value = orjson.loads(text.encode("utf-8", "replace"))
        except orjson.JSONDecodeError as error:
            return self.verdict(False, f"is no JSON ({error}): {quote(answer)}")
        problems = problems_of(compiled(self.json_schema), value)
        if problems:
            return self.verdict(False, "; ".join(problems))
        return self.verdict(True, "has the form of the schema" if self.json_schema else "is JSON")


@lru_cache(maxsize=SCHEMAS_KEPT)
def compiled(schema: str) -> Any:
    """ValueError says what is wrong with it."""
    options = jsonschema_rs.RegexOptions()  # in linear time, unlike those of Python
    try:
        document = orjson.loads(schema or "{}")
    except orjson.JSONDecodeError as error:
        raise ValueError(f"The schema is no JSON: {error}.") from None
    try:
        return jsonschema_rs.validator_for(document, pattern_options=options, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise ValueError(f"The schema is not accepted: {error}"[:400]) from None


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
