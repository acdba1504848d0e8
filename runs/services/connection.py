"""Asks an endpoint for its models and tells a person, in our words, how that went."""

import asyncio
import json
from contextlib import closing
from dataclasses import dataclass, replace
from time import perf_counter

import aiohttp

from runs.models import Endpoint
from runs.outbound import check_endpoint, policy_for
from runs.secrets import SecretsError, decrypt
from workers.engine.errors import (
    BadCredentials,
    CallError,
    ConnectionFailed,
    ForbiddenAddress,
    MalformedAnswer,
    RateLimited,
    Refused,
    ServerError,
    TimedOut,
)
from workers.engine.providers.http import IDENTITY, open_client, read_capped
from workers.engine.providers.resolver import GuardedResolver

DEADLINE_SECONDS = 10.0  # for everything: looking up the name, connecting, reading
MOST_MODELS = 200  # shown; some providers list thousands
LONGEST_MODEL_NAME = 200  # characters


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """How a test went. Holds no word of the provider's but model names: it may echo the key."""

    ok: bool
    message: str
    advice: str = ""
    status: int | None = None
    latency_ms: float | None = None
    models: tuple[str, ...] = ()


def check_connection(
    endpoint: Endpoint, deadline_seconds: float = DEADLINE_SECONDS
) -> ConnectionReport:
    """Ask for the list of models, which costs nothing, with the endpoint's key."""
    try:
        url = f"{check_endpoint(endpoint)}/models"
        key = decrypt(endpoint.key_ciphertext) if endpoint.has_key else ""
    except ForbiddenAddress as error:
        return ConnectionReport(ok=False, message=str(error))  # says what to do itself
    except SecretsError as error:
        return ConnectionReport(ok=False, message=str(error), advice=BadCredentials.advice)
    # Not asyncio.run: it would wait for a name look-up that outlives the deadline.
    with closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(_ask(endpoint.kind, url, key, deadline_seconds))


async def _ask(kind: str, url: str, key: str, deadline_seconds: float) -> ConnectionReport:
    start = perf_counter()
    try:
        async with asyncio.timeout(deadline_seconds):
            status, body = await _get(kind, url, key)
    except TimeoutError:
        report = ConnectionReport(
            ok=False,
            message=f"No full answer within {deadline_seconds:g} seconds.",
            advice=ConnectionFailed.advice,
        )
    except CallError as error:
        report = ConnectionReport(ok=False, message=str(error), advice=error.advice)
    else:
        report = _report(status, body, key)
    return replace(report, latency_ms=(perf_counter() - start) * 1000)


async def _get(kind: str, url: str, key: str) -> tuple[int, bytes]:
    headers = {**IDENTITY, "Authorization": f"Bearer {key}"} if key else IDENTITY
    try:
        async with (
            open_client(GuardedResolver(policy_for(kind))) as client,
            client.get(url, headers=headers, allow_redirects=False) as response,
        ):
            return response.status, await read_capped(response)
    except TimeoutError:
        raise TimedOut("The provider did not accept a connection in time.") from None
    except (aiohttp.ClientError, OSError) as error:
        raise ConnectionFailed(f"Could not connect: {_reason(error)}.") from None


def _reason(error: Exception) -> str:
    """What went wrong, in words that cannot contain what the provider sent."""
    reasons: dict[type[Exception], str] = {
        aiohttp.ClientConnectorDNSError: "the host name is not known",
        aiohttp.ClientConnectorCertificateError: "its certificate is not valid",
        aiohttp.ClientConnectorSSLError: "it does not speak https",
        aiohttp.ClientConnectorError: "nothing answers at this address",
        aiohttp.ServerDisconnectedError: "it closed the connection without an answer",
        aiohttp.ClientPayloadError: "it broke off in the middle of its answer",
    }
    return next(
        (text for kind, text in reasons.items() if isinstance(error, kind)), type(error).__name__
    )


def _report(status: int, body: bytes, key: str) -> ConnectionReport:
    if status != 200:
        message, advice = _refusal(status)
        return ConnectionReport(ok=False, status=status, message=message, advice=advice)
    models = _read_models(body, key)
    if models is None:
        return ConnectionReport(
            ok=False,
            status=status,
            message="It answered, but not with a list of models.",
            advice=MalformedAnswer.advice,
        )
    noun = "model" if len(models) == 1 else "models"
    return ConnectionReport(
        ok=True, status=status, message=f"Connected: {len(models)} {noun}.", models=models
    )


def _refusal(status: int) -> tuple[str, str]:
    if status in (401, 403):
        return f"The provider did not accept the key ({status}).", BadCredentials.advice
    if status == 404:
        return "The provider has no list of models there (404).", (
            "Check that the base URL ends with the version, as in https://provider.example/v1."
        )
    if status == 429:
        return "The provider limits the rate of calls at the moment (429).", RateLimited.advice
    if status >= 500:
        return f"The provider failed on its side ({status}).", ServerError.advice
    if 300 <= status < 400:
        return f"The provider redirects to another address ({status}).", (
            "Redirects are not followed, so that the key goes nowhere else. "
            "Enter the address it redirects to as the base URL."
        )
    return f"The provider refused the request ({status}).", Refused.advice


def _read_models(body: bytes, key: str) -> tuple[str, ...] | None:
    try:
        entries = json.loads(body)["data"]
        names = [str(entry["id"]) for entry in entries]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    shown = (name for name in names if name.isprintable() and not (key and key in name))
    return tuple(name[:LONGEST_MODEL_NAME] for name in list(shown)[:MOST_MODELS])
