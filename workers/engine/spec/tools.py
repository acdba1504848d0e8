"""The tools that a prompt declares: functions that a model may call, described by JSON Schema."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, field_validator

from workers.engine.json_text import to_json
from workers.engine.scorers.schemas import problem_with_schema
from workers.engine.spec.model_choice import Strict

MOST_TOOLS = 64
ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
ANY_TOOL = "required"
CHOICES = ("auto", ANY_TOOL, "none")


class Tool(Strict):
    """A function that the model may call. The call is not made: it is the answer that is scored."""

    name: ToolName = Field(description="The function's name, as the model calls it.")
    description: Annotated[str, Field(max_length=10_000)] = Field(
        "", description="What it does, told to the model."
    )
    parameters: dict[str, Any] = Field(
        {"type": "object", "properties": {}},
        description="Its arguments as a JSON Schema, as in {type: object, properties: {city: "
        "{type: string}}, required: [city]}.",
    )

    @field_validator("parameters")
    @classmethod
    def check_parameters(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        schema = to_json(parameters).decode()
        if parameters.get("type") != "object":
            raise ValueError("Arguments are an object: write type: object, and its properties.")
        if problem := problem_with_schema(schema):
            raise ValueError(problem)
        return parameters


def choice_problem(choice: str, tools: Sequence[Tool]) -> str:
    """What is wrong with a choice among these tools. Empty: nothing."""
    names = [tool.name for tool in tools]
    if choice in CHOICES or choice in names:
        return ""
    return f"There is no tool {choice!r}. Choose one of: {', '.join((*CHOICES, *names))}."


def tool_fields(prompt: Mapping[str, Any]) -> dict[str, Any]:
    """What a prompt's tools add to a request, in OpenAI's form; nothing where it has none."""
    if not prompt.get("tools"):
        return {}
    fields: dict[str, Any] = {
        "tools": [{"type": "function", "function": dict(tool)} for tool in prompt["tools"]]
    }
    if choice := prompt.get("tool_choice"):
        is_word = choice in CHOICES
        named = {"type": "function", "function": {"name": choice}}
        fields["tool_choice"] = choice if is_word else named
    return fields
