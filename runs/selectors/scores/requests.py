"""The first call of a trial as it was sent: its request, and the key that the cache keeps its
answer under. Made again from what was frozen at the launch; scores store nothing of it."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.db.models import QuerySet

from runs.models import CachedReply, Endpoint, Run, Score
from runs.selectors.endpoints.service import service_of
from runs.selectors.limits.limits import configuration_now
from workers.engine.calling.cache import cache_key
from workers.engine.errors import EngineError
from workers.engine.records import Case, Request
from workers.engine.targets import TargetParts


class FirstCall(NamedTuple):
    key: str
    request: Request
    endpoint: Endpoint


class KeptAnswer(NamedTuple):
    """Where a cached answer came from. Of an answer that a run of others paid for only the key is
    told."""

    key: str
    stored: datetime | None
    run: Run | None
    is_readable: bool  # there is an entry that the person may open


def first_calls(run: Run, scores: Iterable[Score]) -> dict[int, FirstCall]:
    """By the positions of the trials. One is missing if its endpoint was removed, or if its prompt
    cannot be filled in: then it failed before it was sent."""
    configuration = configuration_now(run)
    target = configuration.target(TargetParts())
    endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.all()}
    services: dict[str, str] = {}
    found = {}
    for score in scores:
        case = Case(score.case.position, score.case.fields, run.expected_column)
        try:
            request = target.opening(score.candidate.as_engine, case, score.repeat)
        except EngineError:
            continue
        if request is None or request.endpoint not in endpoints:
            continue
        endpoint = endpoints[request.endpoint]
        if endpoint.name not in services:
            services[endpoint.name] = service_of(endpoint)
        key = cache_key(services[endpoint.name], request)
        found[score.position] = FirstCall(key, request, endpoint)
    return found


def kept_answer(call: FirstCall, readable: QuerySet[CachedReply]) -> KeptAnswer:
    """`readable` are the entries that the person may open."""
    entry = readable.filter(pk=call.key).select_related("run").defer("text").first()
    if entry is None:
        return KeptAnswer(call.key, None, None, is_readable=False)
    return KeptAnswer(call.key, entry.created, entry.run, is_readable=True)
