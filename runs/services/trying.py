"""One prompt to an endpoint, with what went over the wire, for a person who sets it up.

The call is one of the endpoint's: it waits for a permit among those of all runs and workers, and
what becomes of it is counted with theirs. It is answered by no cache, and stored nowhere.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from random import Random

from django.conf import settings
from django.core.exceptions import ValidationError

from runs.models import AuditAction, Endpoint
from runs.roles import Permission, Person, check_permission
from runs.secrets import SecretsError, decrypt
from runs.selectors.endpoints.manner import headers_of, route_of
from runs.services.audit import record
from workers.engine.calling.calls import Caller, CallParts, CallRules
from workers.engine.calling.prices import cost_of, read_prices
from workers.engine.clock import SystemClock
from workers.engine.errors import CallError, TimedOut
from workers.engine.http.recorded import RawExchange, RecordingClient
from workers.engine.providers.answers import clean_text, without_secrets
from workers.engine.providers.routes import open_as
from workers.engine.records import Attempt, Reply, Request
from workers.engine.throttling.permits import PRIORITY_WEIGHTS, LocalPermits, Quota
from workers.engine.throttling.throttle import Throttle
from workers.redis_permits import RedisPermits
from workers.wiring import build_provider, open_redis, worker_name

DEADLINE_SECONDS = 30.0  # for everything: waiting for a permit, calling, reading
LONGEST_PROMPT = 20_000  # characters
LONGEST_MODEL_NAME = 200
SHOWN_CHARACTERS = 20_000  # of a body
GROUP = "try"  # among the runs that share the limit
HIDDEN_HEADERS = ("set-cookie", "authorization", "cookie")
PAUSED = "The endpoint is paused, so no call starts. Resume it first."
NO_PERMIT = "No place for a call became free: runs are using all that the endpoint allows."


@dataclass(frozen=True, slots=True)
class ShownExchange:
    """One request and its answer as text, without secrets."""

    request: str
    response: str


@dataclass(frozen=True, slots=True)
class Tried:
    model: str
    answer: str = ""
    problem: str = ""
    advice: str = ""
    latency_ms: float | None = None
    waited_ms: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    exchanges: tuple[ShownExchange, ...] = ()


def try_prompt(
    user: Person,
    endpoint: Endpoint,
    model: str,
    prompt: str,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Tried:
    """The answer, or why there is none. ValidationError about model or prompt."""
    check_permission(user, Permission.EDIT_ENDPOINTS)
    model = model.strip()
    _check(model, prompt)
    if endpoint.is_paused:
        return Tried(model, problem=PAUSED)
    try:
        secrets = _secrets_of(endpoint)
        client = open_as(RecordingClient, route_of(endpoint))
    except SecretsError as error:
        return Tried(model, problem=str(error))
    record(AuditAction.ENDPOINT_PROMPTED, endpoint, model, actor=user)
    with closing(asyncio.new_event_loop()) as loop:
        call = _call(endpoint, client, model, prompt, deadline_seconds)
        tried = loop.run_until_complete(call)
    shown = tuple(_shown(exchange, secrets) for exchange in client.exchanges)
    return replace(tried, answer=without_secrets(tried.answer, *secrets), exchanges=shown)


def _check(model: str, prompt: str) -> None:
    errors = {}
    if not 0 < len(model) <= LONGEST_MODEL_NAME:
        errors["model"] = f"Name a model, in at most {LONGEST_MODEL_NAME} characters."
    if not prompt.strip() or len(prompt) > LONGEST_PROMPT:
        errors["prompt"] = f"Write a prompt of at most {LONGEST_PROMPT:,} characters."
    if errors:
        raise ValidationError(errors)


def _secrets_of(endpoint: Endpoint) -> list[str]:
    key = decrypt(endpoint.key_ciphertext) if endpoint.has_key else ""
    plain = [key, *headers_of(endpoint).values()]
    return [*plain, *(json.dumps(secret)[1:-1] for secret in plain)]


async def _call(
    endpoint: Endpoint, client: RecordingClient, model: str, prompt: str, seconds: float
) -> Tried:
    body = {"model": model, "messages": [{"role": "user", "content": prompt}]}
    request = Request(endpoint.name, model, "/chat/completions", body)
    redis, clock = open_redis(), SystemClock()
    local = LocalPermits(clock.monotonic)
    permits = RedisPermits(redis, f"try:{worker_name()}", settings.WORKERS, local)
    parts = CallParts(Throttle(permits, clock), clock, Random())
    rules = CallRules(lambda _: (quota_of(endpoint, model),), 1, seconds)
    caller = Caller({endpoint.name: build_provider(endpoint, client)}, parts, rules)
    trace: list[Attempt] = []
    try:
        async with asyncio.timeout(seconds):
            reply = await caller.call(request, trace)
    except TimeoutError:
        problem = NO_PERMIT if not client.exchanges else f"No full answer within {seconds:g} s."
        return Tried(model, problem=problem, advice=TimedOut.advice)
    except CallError as error:
        return Tried(model, problem=str(error), advice=error.advice)
    finally:
        await parts.close()
        await parts.throttle.give_back()
        await client.close()
        await redis.aclose()
    return _tried(endpoint, model, reply, trace[-1])


def quota_of(endpoint: Endpoint, model: str) -> Quota:
    """The same key as for runs."""
    return Quota(
        f"endpoint:{endpoint.pk}/{model}",
        endpoint.max_concurrent,
        endpoint.requests_per_minute,
        endpoint.tokens_per_minute,
        group=GROUP,
        weight=PRIORITY_WEIGHTS["normal"],
        is_adaptive=endpoint.adaptive,
        is_guarded=True,
    )


def _tried(endpoint: Endpoint, model: str, reply: Reply, step: Attempt) -> Tried:
    price = read_prices(endpoint.prices).get(model)
    return Tried(
        model,
        answer=reply.text,
        latency_ms=step.took_ms,
        waited_ms=step.waited_ms,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        cost=cost_of(price, reply.tokens_in, reply.tokens_out),
    )


def _shown(exchange: RawExchange, secrets: Sequence[str]) -> ShownExchange:
    head = f"{exchange.method} {exchange.url}"
    request = _message(head, exchange.headers, exchange.body, secrets)
    answer = exchange.answer
    if answer is None:
        return ShownExchange(request, "No answer came.")
    head = f"HTTP {answer.status}"
    return ShownExchange(request, _message(head, answer.headers, answer.body, secrets))


def _message(head: str, headers: Mapping[str, str], body: bytes, secrets: Sequence[str]) -> str:
    """Secrets are taken out before anything is cut, or half of one might stay."""
    lines = [
        f"{name}: {'[hidden]' if name.lower() in HIDDEN_HEADERS else value}"
        for name, value in headers.items()
    ]
    text = "\n".join([head, *lines, "", body.decode("utf-8", "replace")])
    return clean_text(without_secrets(text, *secrets))[:SHOWN_CHARACTERS]
