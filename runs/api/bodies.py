"""Reads request bodies: JSON in UTF-8 for all routes, YAML for configurations."""

from typing import Any
from urllib.parse import quote

import orjson
from django.http import HttpRequest
from ninja.parser import Parser

from runs.api.problems import UNREADABLE, RequestProblem, refuse
from workers.engine.spec.depth import TOO_DEEP, is_too_deep
from workers.engine.spec.documents import read_document

JSON = "application/json"
YAML = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")


class JsonParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        return json_of(request)


def json_of(request: HttpRequest) -> Any:
    """Raises RequestProblem. NUL is legal in JSON, but no database column holds it."""
    media_type = media_type_of(request)
    if media_type not in {JSON, ""}:
        raise RequestProblem(415, f"Send {JSON}, not {media_type[:80]}.")
    try:
        value = orjson.loads(request.body)
    except orjson.JSONDecodeError:
        raise refuse("", UNREADABLE, 400) from None
    if is_too_deep(value):
        raise refuse("", f"The body is {TOO_DEEP}")
    if b"\\u0000" in request.body and "\x00" in "".join(texts_in(value)):
        raise refuse("", "A text holds no NUL character.")
    return value


def document_from(request: HttpRequest) -> Any:
    """A configuration as JSON or YAML. Raises ConfigurationError or RequestProblem."""
    if media_type_of(request) not in YAML:
        return json_of(request)
    try:
        return read_document(request.body.decode())
    except UnicodeDecodeError:
        raise refuse("", "The body is not UTF-8.", 400) from None


def media_type_of(request: HttpRequest) -> str:
    return (request.content_type or "").lower()


def wants_yaml(request: HttpRequest) -> bool:
    return any(request.headers.get("Accept", "").startswith(kind) for kind in YAML)


def texts_in(value: Any) -> list[str]:
    """Every text of a JSON value that is not too deep, keys too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in texts_in(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts_in(part)]
    return []


def address_of(*parts: str) -> str:
    """Under /api/v1, with names as they may stand in a header."""
    return "/api/v1/" + "/".join(quote(part) for part in parts)
