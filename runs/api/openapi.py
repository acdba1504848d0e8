"""Finishes the OpenAPI document: the engine's schema by its name, and every refusal."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from runs.api.problems import MEDIA_TYPE, ProblemReport
from workers.engine.kinds import KINDS

SCHEMAS = "#/components/schemas/"
PROBLEM = {"$ref": "#/components/responses/Problem"}
REFUSALS = (400, 401, 403, 404, 409, 413, 415, 422, 429, 503)


def finish(document: dict[str, Any]) -> None:
    components = document["components"]
    models: list[type[BaseModel]] = [ProblemReport, *KINDS.values()]
    for model in models:
        add_schema(components["schemas"], model)
    components["schemas"]["Configuration"] = {
        "oneOf": [{"$ref": f"{SCHEMAS}{model.__name__}"} for model in KINDS.values()],
    }
    name_or_document = [
        {"type": "string", "maxLength": 120, "description": "The name of a stored one."},
        {"$ref": f"{SCHEMAS}Configuration"},
    ]
    components["schemas"]["RunBody"]["properties"]["configuration"] = {"anyOf": name_or_document}
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{SCHEMAS}ProblemReport"}}}
    components["responses"] = {
        "Problem": {"description": "What was wrong, and what is allowed.", "content": content}
    }
    for operation in operations_of(document):
        operation["responses"] |= {
            status: PROBLEM for status in REFUSALS if status not in operation["responses"]
        }
        for parameter in operation["parameters"]:
            parameter["schema"] = without_null(parameter["schema"])


def add_schema(schemas: dict[str, Any], model: type[BaseModel]) -> None:
    schema = model.model_json_schema(ref_template=f"{SCHEMAS}{{model}}")
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema


def operations_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from path.values()


def without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is left out or has a value: an address cannot say null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    return choices[0] if len(choices) == 1 else schema
