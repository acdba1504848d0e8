"""Azure's addresses of the OpenAI routes: with a deployment and a version, or under /openai/v1."""

import json
import re
from urllib.parse import parse_qs, unquote

from workers.simulator.protocols.openai_routes import OPENAI_ROUTES, write_refusal
from workers.simulator.records import HttpRequest, Refusal, Reply

DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)(/.+)")
LIST_PATH = "/openai/models"
UNVERSIONED = "/openai/v1/"


def is_azure(request: HttpRequest) -> bool:
    return request.path.startswith("/openai/")


def as_openai(request: HttpRequest) -> HttpRequest:
    """The same request at OpenAI's address. One that Azure does not have stays as it is."""
    found = DEPLOYMENT.fullmatch(request.path)
    if found and f"/v1{found[2]}" in OPENAI_ROUTES:
        return request._replace(path=f"/v1{found[2]}", body=body_for(found[1], request.body))
    if request.path == LIST_PATH:
        return request._replace(path="/v1/models")
    if request.path.startswith(UNVERSIONED):
        return request._replace(path=request.path.removeprefix("/openai"))
    return request


def refusal_of(request: HttpRequest) -> Reply | None:
    """Azure asks for a version unless the path has none. A key nobody needs here."""
    is_versioned = not request.path.startswith(UNVERSIONED)
    if is_versioned and not parse_qs(request.query).get("api-version"):
        return write_refusal(Refusal(404, "Resource not found: api-version is missing."))
    return None


def body_for(deployment: str, body: bytes) -> bytes:
    """The deployment decides, whatever the body says."""
    try:
        document = json.loads(body)
    except ValueError:
        return body
    if not isinstance(document, dict):
        return body
    return json.dumps({**document, "model": unquote(deployment)}).encode()
