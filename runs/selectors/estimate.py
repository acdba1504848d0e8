"""What a run would take, before it is started: calls, cached calls, time, and what limits it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runs import formatting
from runs.models import Candidate, Endpoint
from runs.outbound import base_url_of
from runs.selectors.cache import cached_among
from runs.selectors.choices import find_dataset
from workers.engine.cache import cache_key
from workers.engine.chunks import Allocation, allocate
from workers.engine.errors import ConfigurationError, EngineError, Problem
from workers.engine.kinds import make_candidates
from workers.engine.providers import service_name
from workers.engine.records import Case
from workers.engine.spec import Configuration, check_against, count_trials, read_configuration
from workers.engine.stats import merge_bins, percentile
from workers.engine.targets import TARGETS

MAX_KEYS = 5000  # looked up exactly; above it, the cache is not counted
ASSUMED_SECONDS = 1.0  # a call's latency when there is no history
HISTORY_CANDIDATES = 20
NO_SPLIT = Allocation(candidates=1, cases_per_candidate=1)


@dataclass(frozen=True)
class Estimate:
    problems: list[Problem] = field(default_factory=list)
    candidates: int = 0
    cases: int = 0
    repeats: int = 1
    trials: int = 0
    calls_cached: int | None = None
    calls_to_send: int = 0
    max_concurrent: int = 0
    allocation: Allocation = NO_SPLIT
    usable_slots_static: int = 0
    seconds_low: float = 0.0
    seconds_high: float = 0.0
    limited_by: str = ""
    basis: str = ""


def estimate(document: dict[str, Any]) -> Estimate:
    """Never raises for a bad document: its problems are part of the answer."""
    try:
        configuration = read_configuration(document)
        cases = cases_of(configuration)
        endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.all()}
        check_against(
            configuration,
            endpoints=list(endpoints),
            columns=list(cases[0].fields) if cases else [],
            cases=len(cases),
        )
    except ConfigurationError as error:
        return Estimate(problems=error.problems)
    return measure(configuration, cases, endpoints)


def cases_of(configuration: Configuration) -> list[Case]:
    if configuration.dataset.rows is not None:
        return [Case(place, row) for place, row in enumerate(configuration.dataset.rows)]
    dataset = find_dataset(configuration.dataset.name or "")
    if dataset is None:
        raise ConfigurationError(
            [Problem("dataset", f"There is no dataset {configuration.dataset.name!r}.")]
        )
    rows = dataset.cases.values_list("position", "fields").order_by("position")
    return [Case(position, fields) for position, fields in rows]


def measure(
    configuration: Configuration, cases: list[Case], endpoints: dict[str, Endpoint]
) -> Estimate:
    trials = count_trials(configuration, len(cases))
    calls = count_calls(configuration, cases, endpoints, trials)
    limits = configuration.limits
    slots = min(limits.max_concurrent, slots_of_endpoints(configuration, endpoints))
    allocation = allocate(limits.max_concurrent, min(limits.batch_size, len(cases)))
    bins = latency_history(configuration)
    low, high = (percentile(bins, q) or ASSUMED_SECONDS * 1000 for q in (0.25, 0.75))
    rate, limited_by = binding_limit(configuration, slots, (low + high) / 2000)
    return Estimate(
        candidates=len(configuration.prompts) * len(configuration.models),
        cases=len(cases),
        repeats=configuration.repeats,
        trials=trials,
        calls_cached=calls.cached,
        calls_to_send=calls.to_send,
        max_concurrent=limits.max_concurrent,
        allocation=allocation,
        usable_slots_static=allocation.candidates * allocation.cases_per_candidate,
        seconds_low=seconds_for(calls.to_send, slots, low, rate),
        seconds_high=seconds_for(calls.to_send, slots, high, rate),
        limited_by=limited_by if calls.to_send else "nothing: every answer is in the cache",
        basis=basis_of(bins),
    )


def slots_of_endpoints(configuration: Configuration, endpoints: dict[str, Endpoint]) -> int:
    return sum(endpoints[model.endpoint].max_concurrent for model in configuration.models)


def binding_limit(
    configuration: Configuration, slots: int, seconds: float
) -> tuple[float | None, str]:
    """The limit on the rate that binds, and the lever that would help."""
    limits = configuration.limits
    by_slots = slots / seconds
    rpm = limits.requests_per_minute
    if rpm is not None and rpm / 60 < by_slots:
        return rpm / 60, f"requests per minute ({rpm:,}): more slots would not help"
    if slots < limits.max_concurrent:
        return None, f"the endpoints' own limit of {slots:,} calls in flight"
    return None, f"{slots:,} slots: raising max_concurrent would help"


def seconds_for(calls: int, slots: int, latency_ms: float, rate: float | None) -> float:
    if not calls:
        return 0.0
    rounds = -(-calls // slots)
    return max(rounds * latency_ms / 1000, calls / rate if rate else 0.0)


def latency_history(configuration: Configuration) -> dict[str, int]:
    """Latencies of the newest candidates that used the same models."""
    bins: dict[str, int] = {}
    for model in configuration.models:
        rows = Candidate.objects.filter(
            document__model__endpoint=model.endpoint, document__model__model=model.model, done__gt=0
        ).order_by("-pk")
        for row in rows.values_list("latency_bins", flat=True)[:HISTORY_CANDIDATES]:
            merge_bins(bins, row)
    return bins


def basis_of(bins: dict[str, int]) -> str:
    calls = sum(bins.values())
    if not calls:
        return f"No history of these models: assumed {ASSUMED_SECONDS:g} s a call."
    return f"From {formatting.exact_count(calls)} past calls of these models."


class Calls(NamedTuple):
    cached: int | None  # trials whose answer is there already; None: not looked up
    to_send: int  # equal calls fly once


def count_calls(
    configuration: Configuration, cases: list[Case], endpoints: dict[str, Endpoint], trials: int
) -> Calls:
    """Exact for small runs; for large ones the cache is not looked into."""
    if configuration.cache == "off":
        return Calls(cached=0, to_send=trials)
    if trials > MAX_KEYS:
        return Calls(cached=None, to_send=trials)
    keys = list(keys_of(configuration, cases, endpoints))
    different = set(keys)
    found = cached_among(list(different)) if configuration.cache == "use" else set()
    return Calls(sum(key in found for key in keys), len(different - found))


def keys_of(
    configuration: Configuration, cases: list[Case], endpoints: dict[str, Endpoint]
) -> Iterator[str]:
    target = TARGETS[configuration.kind]()
    for candidate in make_candidates(configuration):
        endpoint = endpoints[candidate.document["model"]["endpoint"]]
        service = service_name(endpoint.kind, base_url_of(endpoint))
        for case in cases:
            for repeat in range(configuration.repeats):
                try:
                    yield cache_key(service, target.opening(candidate, case, repeat))
                except EngineError:
                    continue  # such a trial fails before it is sent
