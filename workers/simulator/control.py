"""The control API: reads the ledger and changes settings, script and state while running.

It asks for a secret: the ledger holds what everybody asked, and a script of faults would ruin
runs. Pages in a browser have no business here, also with a secret.
"""

import hmac
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs

from workers.simulator.provider import SimulatedProvider
from workers.simulator.records import HttpRequest, Reply
from workers.simulator.script import ScriptError, read_script
from workers.simulator.settings import SettingsError, change

CONTROL_PREFIX = "/control/"
OPEN = ("GET", "/control/health")  # says nothing but that it is there
DEFAULT_ROWS = 1000
MOST_ROWS = 10_000  # a page of rows is written in one go and must not stall the server


class ControlError(ValueError):
    """A control request that cannot be carried out; the message says what is allowed."""


def answer_control(provider: SimulatedProvider, request: HttpRequest, secret: str) -> Reply:
    if request.is_from_a_page:
        return _error(403, "The control API answers programs, not pages in a browser.")
    if (request.method, request.path) != OPEN and not knows(secret, request.authorization):
        return _error(
            401,
            "Send Authorization: Bearer SECRET with the secret that `manage.py simulate` printed, "
            "or that EVALSITE_SIMULATOR_SECRET gave it.",
        )
    actions = {method: do for (method, path), do in CONTROLS.items() if path == request.path}
    if not actions:
        known = ", ".join(f"{method} {path}" for method, path in CONTROLS)
        return _error(404, f"There is no {request.path}. Choose one of: {known}.")
    action = actions.get(request.method)
    if action is None:
        return _error(405, f"{request.path} takes only: {', '.join(actions)}.")
    try:
        return Reply(200, json.dumps(action(provider, request)).encode())
    except (ControlError, SettingsError, ScriptError) as problem:
        return _error(400, str(problem))


def knows(secret: str, authorization: str) -> bool:
    given = authorization.encode("latin-1", "replace")
    return hmac.compare_digest(given, f"Bearer {secret}".encode())


def show_health(provider: SimulatedProvider, request: HttpRequest) -> dict[str, Any]:
    return {"ok": True}


def show_ledger(provider: SimulatedProvider, request: HttpRequest) -> dict[str, Any]:
    return provider.ledger.summary(provider.now())


def show_requests(provider: SimulatedProvider, request: HttpRequest) -> dict[str, Any]:
    query = parse_qs(request.query)
    unknown = sorted(set(query) - {"after", "limit"})
    if unknown:
        raise ControlError(f"Unknown parameters: {', '.join(unknown)}. Allowed: after, limit.")
    after = _read_number(query, "after", default=-1, least=-1)
    limit = _read_number(query, "limit", default=DEFAULT_ROWS, least=1)
    rows = provider.ledger.rows(after, min(limit, MOST_ROWS))
    return {"requests": rows, "next_after": rows[-1]["number"] if rows else after}


def reset(provider: SimulatedProvider, request: HttpRequest) -> dict[str, Any]:
    provider.reset()
    return {"reset": True}


def show_settings(provider: SimulatedProvider, request: HttpRequest) -> dict[str, Any]:
    return asdict(provider.settings)


def change_settings(provider: SimulatedProvider, request: HttpRequest) -> dict[str, Any]:
    changes = _read_body(request)
    if not isinstance(changes, dict):
        raise ControlError('Settings are a JSON object such as {"latency_ms": 50}.')
    provider.change_settings(change(provider.settings, changes))
    return asdict(provider.settings)


def show_script(provider: SimulatedProvider, request: HttpRequest) -> dict[str, Any]:
    return {"script": [entry.show() for entry in provider.script.entries]}


def replace_script(provider: SimulatedProvider, request: HttpRequest) -> dict[str, Any]:
    provider.script = read_script(_read_body(request))
    return show_script(provider, request)


CONTROLS: dict[tuple[str, str], Callable[[SimulatedProvider, HttpRequest], dict[str, Any]]] = {
    ("GET", "/control/health"): show_health,
    ("GET", "/control/ledger"): show_ledger,
    ("GET", "/control/ledger/requests"): show_requests,
    ("POST", "/control/reset"): reset,
    ("GET", "/control/settings"): show_settings,
    ("PUT", "/control/settings"): change_settings,
    ("GET", "/control/script"): show_script,
    ("POST", "/control/script"): replace_script,
}


def _read_body(request: HttpRequest) -> Any:
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError) as problem:
        raise ControlError(f"The body is not JSON: {problem}") from None


def _read_number(query: dict[str, list[str]], name: str, default: int, least: int) -> int:
    given = query.get(name, [str(default)])[-1]
    try:
        number = int(given)
    except ValueError:
        raise ControlError(f"{name} must be a whole number, not {given!r}.") from None
    if number < least:
        raise ControlError(f"{name} must be at least {least}, not {number}.")
    return number


def _error(status: int, message: str) -> Reply:
    return Reply(status, json.dumps({"error": message}).encode())
