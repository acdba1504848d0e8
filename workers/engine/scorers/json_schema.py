"""The answer is JSON in the form that a JSON Schema asks for."""

from typing import ClassVar

from pydantic import Field

from workers.engine.scorers.json_form import Json, Schema
from workers.engine.scorers.schemas import LONGEST_SCHEMA


class JsonSchema(Json):
    name: ClassVar[str] = "json_schema"
    label: ClassVar[str] = "JSON Schema"
    summary: ClassVar[str] = "The answer is JSON in the form of your JSON Schema."

    json_schema: Schema = Field(
        alias="schema",
        min_length=1,
        max_length=LONGEST_SCHEMA,
        title="JSON Schema",
        description='As in {"type": "object", "required": ["name"]}; in YAML also without quotes.',
    )
