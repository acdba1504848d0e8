"""A model of an endpoint, as configurations name it: to be tried, or to judge."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from workers.engine.json_text import to_json
from workers.engine.spec.parameters import check_parameters

Name = Annotated[str, Field(min_length=1, max_length=100)]


class Strict(BaseModel):
    """Unknown fields are refused, values are not changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def also_written(*short_forms: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Tells the JSON schema of a model about the short forms that its validator reads."""

    def extend(schema: dict[str, Any]) -> None:
        full = dict(schema)
        schema.clear()
        schema["anyOf"] = [*short_forms, full]

    return extend


class ModelChoice(Strict):
    """A model of an endpoint, written `endpoint/model` or in full."""

    model_config = ConfigDict(
        json_schema_extra=also_written(
            {"type": "string", "format": "model", "pattern": "^[^/]{1,100}/.{1,200}$"}
        )
    )

    endpoint: Name = Field(description="The name of an endpoint of this site.")
    model: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="The model's name, as the provider calls it."
    )
    parameters: dict[str, Any] = Field(
        {},
        description="Sent with every call, as in {temperature: 0, max_tokens: 200}. temperature is "
        "0 to 10, top_p 0 to 1; other names go to the provider as they are.",
    )

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        endpoint, slash, model = value.partition("/")
        if not slash:
            raise ValueError(f"{value!r} has no endpoint. Write endpoint/model.")
        return {"endpoint": endpoint, "model": model}

    @field_validator("parameters")
    @classmethod
    def check_known_parameters(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        check_parameters(parameters)
        return parameters

    @property
    def label(self) -> str:
        return f"{self.endpoint}/{self.model}"

    @property
    def full_label(self) -> str:
        """The same model with other parameters is another choice."""
        if not self.parameters:
            return self.label
        return f"{self.label} {to_json(self.parameters).decode()}"
