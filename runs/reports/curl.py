"""A request as a curl command that can be pasted into a shell whatever it holds. Secrets come from
the environment, never from a page."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from runs.models import Endpoint
from workers.engine.errors import CallError
from workers.engine.providers import PROVIDERS
from workers.engine.providers.manner import merged
from workers.engine.records import Request

END = "CONFIGURATION"  # no line of the body is it: the body is one line of JSON, in ASCII
END_OF_CALL = "REQUEST"
LONGEST_COMMAND = 500_000  # characters on a page: one image as data, not twenty


def as_curl(url: str, document: Mapping[str, Any]) -> str:
    """`POST /api/v1/runs`."""
    secret = {"Authorization": f"Bearer {filled_from('EVALSITE_TOKEN')}"}
    return write_curl(url, secret, {"configuration": document}, END)


def call_as_curl(endpoint: Endpoint, request: Request) -> str:
    """A call of a model, to the endpoint as it is now. Empty where there is no address to name: the
    simulated provider of the site has another one after each start; and where nothing was sent."""
    provider: Any = PROVIDERS.get(endpoint.kind)
    if not endpoint.base_url or not hasattr(provider, "written"):
        return ""
    try:
        written = provider.written(request, endpoint.options)
    except CallError:  # such a request is never sent
        return ""
    headers = provider.key_headers(filled_from("API_KEY") if endpoint.has_key else "")
    own = {name: filled_from(variable_of(name)) for name in endpoint.header_names}
    headers = merged(headers, provider.option_headers(endpoint.options), own)
    url = endpoint.base_url.rstrip("/") + written.path
    command = write_curl(url, headers, written.body, END_OF_CALL, written.method)
    return command if len(command) <= LONGEST_COMMAND else ""


def variable_of(header: str) -> str:
    return re.sub(r"[^A-Z0-9]", "_", f"HEADER_{header.upper()}")


def filled_from(variable: str) -> str:
    """A place that the shell is to fill, and nothing that anybody could write: see `as_word`."""
    return f"\0{variable}\0"


def as_word(header: str) -> str:
    """One word of a shell, in which only the places for secrets are filled."""
    return re.sub("\0(\\w+)\0", r"""'"$\1"'""", shlex.quote(header)).removesuffix("''")


def write_curl(
    url: str, headers: Mapping[str, str], body: Any, end: str, method: str = "POST"
) -> str:
    said = [f"  -H {as_word(f'{name}: {value}')}" for name, value in headers.items()]
    if method == "GET":
        return " \\\n".join([f"curl -sS {shlex.quote(url)}", *said]) + "\n"
    lines = [
        f"curl -sS -X {shlex.quote(method)} {shlex.quote(url)} \\",
        *(f"{header} \\" for header in said),
        "  -H 'Content-Type: application/json' \\",
        f"  --data-binary @- <<'{end}'",
        json.dumps(body),
        end,
    ]
    return "\n".join(lines) + "\n"
