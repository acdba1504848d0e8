"""Asks an endpoint for its models and tells a person, in our words, how that went."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from runs.models import Endpoint
from runs.outbound import admins_may_allow, check_servers
from runs.secrets import SecretsError, decrypt
from runs.selectors.endpoints.manner import headers_of, route_of
from workers.engine.errors import (
    BadCredentials,
    CallError,
    ConnectionFailed,
    ForbiddenAddress,
    MalformedAnswer,
    PrivateAddress,
    RateLimited,
    Refused,
    ServerError,
)
from workers.engine.providers import PROVIDERS, model_list_of
from workers.engine.providers.answers import read_json_answer
from workers.engine.providers.manner import merged
from workers.engine.providers.model_lists import ModelList
from workers.engine.providers.routes import Route, open_client

DEADLINE_SECONDS = 10.0  # for everything: looking up the name, connecting, reading
MOST_MODELS = 200  # shown; some providers list thousands
MOST_TO_CHOOSE = 1000  # offered to be ticked
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
    unlisted: tuple[str, ...] = ()  # of the endpoint's own models, those the server does not list
    private_place: str = ""  # it would work if an admin allowed this one
    was_asked: bool = True  # False: its protocol has no list of models, so nothing is known


class Question(NamedTuple):
    """What every server of an endpoint is asked, and how."""

    route: Route
    model_list: ModelList
    key: str
    headers: Mapping[str, str]


OTHER_NAMES = ConnectionReport(
    ok=False,
    was_asked=False,
    message="It lists the models that could be deployed, not the names of your deployments.",
    advice="Enter the names of your deployments, one a line.",
)
CANNOT_ASK = ConnectionReport(
    ok=False,
    was_asked=False,
    message="Endpoints of this kind have no list of models, and any other call would cost money.",
    advice="Enter the names of its models yourself. A run with one case tells whether they work.",
)


def check_connection(
    endpoint: Endpoint, deadline_seconds: float = DEADLINE_SECONDS
) -> ConnectionReport:
    """Ask for the list of models, which costs nothing, with the endpoint's key."""
    report = _ask_endpoint(endpoint, deadline_seconds)
    model_list = model_list_of(endpoint.kind)
    if not report.ok or model_list is None:
        return report
    if not model_list.names_callable:
        return replace(report, models=report.models[:MOST_MODELS])
    return _compare_models(endpoint, report)


def ask_for_models(
    endpoint: Endpoint, deadline_seconds: float = DEADLINE_SECONDS
) -> ConnectionReport:
    """The models to choose from."""
    model_list = model_list_of(endpoint.kind)
    if model_list is not None and not model_list.names_callable:
        return OTHER_NAMES
    report = _ask_endpoint(endpoint, deadline_seconds)
    return replace(report, models=tuple(dict.fromkeys(report.models))[:MOST_TO_CHOOSE])


def _ask_endpoint(endpoint: Endpoint, deadline_seconds: float) -> ConnectionReport:
    model_list = model_list_of(endpoint.kind)
    if model_list is None:
        return CANNOT_ASK
    try:
        urls, route = check_servers(endpoint), route_of(endpoint)
        key, headers = _key_of(endpoint), _headers(endpoint)
    except ForbiddenAddress as error:
        return _forbidden(error)
    except SecretsError as error:
        return ConnectionReport(ok=False, message=str(error), advice=BadCredentials.advice)
    # Not asyncio.run: it would wait for a name look-up that outlives the deadline.
    with closing(asyncio.new_event_loop()) as loop:
        question = Question(route, model_list, key, headers)
        return loop.run_until_complete(_ask_all(question, urls, deadline_seconds))


def _key_of(endpoint: Endpoint) -> str:
    return decrypt(endpoint.key_ciphertext) if endpoint.has_key else ""


def _headers(endpoint: Endpoint) -> Mapping[str, str]:
    """Besides the key's."""
    provider: Any = PROVIDERS[endpoint.kind]
    return merged(provider.option_headers(endpoint.options), headers_of(endpoint))


def _compare_models(endpoint: Endpoint, report: ConnectionReport) -> ConnectionReport:
    """A server that answers does not yet have the models that are entered for it."""
    listed, shown = set(report.models), report.models[:MOST_MODELS]
    unlisted = tuple(name for name in endpoint.model_names if not _is_listed(name, listed))
    if not unlisted:
        return replace(report, models=shown)
    names = ", ".join(unlisted)
    return replace(
        report,
        message="The server answers, but it does not list the "
        f"{'model' if len(unlisted) == 1 else 'models'} {names}.",
        advice="No call was made to find out whether it works anyway. Check the spelling, or take "
        "a name that is listed.",
        models=shown,
        unlisted=unlisted,
    )


def _is_listed(name: str, listed: Collection[str]) -> bool:
    return name in listed or f"{name}:latest" in listed  # how Ollama lists a name without a tag


def _forbidden(error: ForbiddenAddress) -> ConnectionReport:
    """The message says itself what to do."""
    place = error.place if isinstance(error, PrivateAddress) and admins_may_allow() else ""
    return ConnectionReport(ok=False, message=str(error), private_place=place)


async def _ask_all(
    question: Question, urls: Sequence[str], deadline_seconds: float
) -> ConnectionReport:
    """Every server of the endpoint at once; the first that fails is the one reported."""
    questions = (_ask(question, url, deadline_seconds) for url in urls)
    reports = await asyncio.gather(*questions)
    if len(reports) == 1:
        return reports[0]
    for url, report in zip(urls, reports, strict=True):
        if not report.ok:
            return replace(report, message=f"{urlsplit(url).netloc}: {report.message}")
    shared = set.intersection(*(set(report.models) for report in reports))
    models = tuple(name for name in reports[0].models if name in shared)
    message = f"Connected to {len(urls)} servers: all offer {_count_models(models)}."
    return replace(
        reports[0],
        message=message,
        models=models,
        latency_ms=max(report.latency_ms or 0.0 for report in reports),
    )


async def _ask(question: Question, url: str, deadline_seconds: float) -> ConnectionReport:
    start = perf_counter()
    try:
        async with asyncio.timeout(deadline_seconds):
            status, body = await _get(question, url)
    except TimeoutError:
        report = ConnectionReport(
            ok=False,
            message=f"No full answer within {deadline_seconds:g} seconds.",
            advice=ConnectionFailed.advice,
        )
    except ForbiddenAddress as error:
        report = _forbidden(error)
    except CallError as error:
        report = ConnectionReport(ok=False, message=str(error), advice=error.advice)
    else:
        report = _report(question, status, body)
    return replace(report, latency_ms=(perf_counter() - start) * 1000)


async def _get(question: Question, url: str) -> tuple[int, bytes]:
    model_list = question.model_list
    headers = merged(model_list.key_headers(question.key), question.headers)
    async with open_client(question.route) as client:
        answer = await client.get(url + model_list.path, headers)
    return answer.status, answer.body


def _report(question: Question, status: int, body: bytes) -> ConnectionReport:
    model_list = question.model_list
    if status != 200:
        message, advice = _refusal(model_list, status)
        return ConnectionReport(ok=False, status=status, message=message, advice=advice)
    models = _read_models(question, body)
    if models is None:
        return ConnectionReport(
            ok=False,
            status=status,
            message="It answered, but not with a list of models.",
            advice=MalformedAnswer.advice,
        )
    message = f"Connected: {_count_models(models)}."
    return ConnectionReport(ok=True, status=status, message=message, models=models)


def _count_models(models: Sequence[str]) -> str:
    return f"{len(models)} {'model' if len(models) == 1 else 'models'}"


def _refusal(model_list: ModelList, status: int) -> tuple[str, str]:
    if status in (401, 403):
        return f"The provider did not accept the key ({status}).", BadCredentials.advice
    if status == 404:
        return "The provider has no list of models there (404).", model_list.advice
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


def _read_models(question: Question, body: bytes) -> tuple[str, ...] | None:
    secrets = [question.key, *question.headers.values()]
    try:
        names = read_json_answer(body, question.model_list.names_of, "a list of models")
    except MalformedAnswer:
        return None
    shown = (name for name in names if is_shown(name, secrets))
    return tuple(name[:LONGEST_MODEL_NAME] for name in shown)


def is_shown(name: str, secrets: Sequence[str]) -> bool:
    return name.isprintable() and not any(secret and secret in name for secret in secrets)
