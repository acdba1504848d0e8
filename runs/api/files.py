"""Lists that also come whole, as a file, to who accepts one rather than JSON."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django.http import HttpRequest

from runs.api.bodies import JSON
from runs.api.openapi import PROBLEM
from runs.api.problems import RequestProblem, refuse
from runs.reports.export import Format
from runs.reports.score_files import MEDIA_TYPES

Form = TypeVar("Form", bound=str)
FILE_FORMS: dict[str, Format] = {kind: form for form, kind in MEDIA_TYPES.items()}


def wanted_form(request: HttpRequest, forms: Mapping[str, Form]) -> Form | None:
    """The kind of file that the caller accepts rather than JSON; None: JSON."""
    known = [JSON, *forms]
    kind = request.get_preferred_type(known)
    if kind is None:
        raise RequestProblem(406, f"This comes as one of: {', '.join(known)}.")
    if (form := forms.get(kind)) is None:
        return None
    for name in ("limit", "cursor", "fields", "folded"):
        if name in request.GET:
            told = "A file has everything that matches, with every column"
            raise refuse(name, f"{told}: leave {name} out, or accept {JSON}.")
    return form


def also_as_files(*schemas: str, forms: Iterable[str] = FILE_FORMS) -> dict[str, Any]:
    """What the OpenAPI document says of such a route; `schemas` are what its JSON may be."""
    known = [{"$ref": f"#/components/schemas/{schema}"} for schema in schemas]
    return {
        "responses": {
            200: {
                "description": "OK",
                "content": {
                    JSON: {"schema": known[0] if len(known) == 1 else {"anyOf": known}},
                    **{kind: {"schema": {"type": "string"}} for kind in forms},
                },
            },
            406: PROBLEM,
        }
    }
