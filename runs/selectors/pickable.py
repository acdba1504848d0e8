"""Items of which a program may ask for some fields only."""

from typing import Any

from pydantic import BaseModel, ConfigDict


def drop_required(schema: dict[str, Any]) -> None:
    """Any part may be left out on demand, so the schema must not promise it."""
    schema.pop("required", None)


class Pickable(BaseModel):
    model_config = ConfigDict(json_schema_extra=drop_required)
