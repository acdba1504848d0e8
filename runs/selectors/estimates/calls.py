"""How many calls a run would send: counted exactly for small runs, from a sample for large ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

from runs.models import Endpoint
from runs.selectors.cache import cached_among
from runs.selectors.case_sources import CaseSource, cases_at, read_cases
from runs.selectors.endpoints.service import service_of
from workers.engine.calling.cache import cache_key
from workers.engine.errors import EngineError
from workers.engine.records import Candidate, Case, Request
from workers.engine.spec.configuration import Configuration, ModelChoice, ModelTrials, TrialRange
from workers.engine.statistics.intervals import wilson
from workers.engine.targets import TargetParts

MAX_KEYS = 5000  # looked up one by one; above it, a sample tells
SAMPLE = 2000


class ModelCalls(NamedTuple):
    model: ModelChoice
    calls: float


@dataclass(frozen=True)
class Calls:
    """What a run would send, and what it would find in the cache."""

    cached: int
    cached_low: int
    cached_high: int
    to_send: int  # at most; equal calls fly once
    is_sampled: bool
    requests: list[Request] = field(default_factory=list)  # some of them, to guess tokens from
    fewer: int = 0  # a strategy may need so many fewer
    told: Sequence[ModelTrials] = ()  # of those to send, the ones that make candidates

    @property
    def least_share(self) -> float:
        return 1 - self.fewer / self.to_send if self.to_send else 1.0

    def plus(self, most: int, fewer: int = 0) -> "Calls":
        return replace(self, to_send=self.to_send + most, fewer=self.fewer + fewer)

    def by_model(self, configuration: Configuration) -> list[ModelCalls]:
        """Models that answer cases get an even share of the calls that make no candidates."""
        rest = self.to_send - sum(each.trials for each in self.told)
        answering = configuration.answering
        shares = [ModelCalls(model, rest / len(answering)) for model in answering]
        return [*shares, *(ModelCalls(*each) for each in self.told)]


def count_calls(
    configuration: Configuration,
    source: CaseSource,
    endpoints: dict[str, Endpoint],
    bounds: TrialRange,
) -> Calls:
    trials = bounds.most
    is_sampled = trials > MAX_KEYS
    cases = (sample_cases if is_sampled else read_cases)(source, configuration)
    pairs = list(keys_of(configuration, cases, endpoints))
    if is_sampled:
        pairs = Random(configuration.seed).sample(pairs, min(SAMPLE, len(pairs)))
    keys = [key for key, _ in pairs]
    requests = [request for _, request in pairs[:50]]
    if configuration.bears or not configuration.target.is_one_call:
        # At most: nobody knows yet what is asked of candidates to be born, or by later calls.
        told, each = configuration.told(len(source.positions)), configuration.calls_per_trial()
        most = trials * each + sum(one.trials for one in told)
        return Calls(0, 0, 0, most, True, requests, most - bounds.least * each, told)
    if configuration.cache == "off":
        return Calls(0, 0, 0, trials, is_sampled, requests)
    found = cached_among(list(set(keys))) if configuration.cache == "use" else set()
    hits = sum(key in found for key in keys)
    if is_sampled:
        return scale_up(hits, len(keys), trials, requests)
    return Calls(hits, hits, hits, len(set(keys) - found), False, requests)


def scale_up(hits: int, sample: int, trials: int, requests: list[Request]) -> Calls:
    """From the sample to the whole, with the interval that a sample leaves open."""
    if not sample:
        return Calls(0, 0, 0, trials, True, requests)
    low, high = wilson(hits / sample, sample)
    cached = round(trials * hits / sample)
    return Calls(cached, round(trials * low), round(trials * high), trials - cached, True, requests)


def sample_cases(source: CaseSource, configuration: Configuration) -> list[Case]:
    """As many cases as a sample needs, never all of a large dataset."""
    cases = len(source.positions)
    positions = Random(configuration.seed).sample(source.positions, min(SAMPLE, cases))
    return cases_at(source, configuration, positions)


def keys_of(
    configuration: Configuration, cases: Sequence[Case], endpoints: dict[str, Endpoint]
) -> Iterator[tuple[str, Request]]:
    """Key and request of trials; of a large run only as many as a sample needs."""
    services = {name: service_of(endpoint) for name, endpoint in endpoints.items()}
    candidates = configuration.make_candidates()
    each = len(candidates) * configuration.repeats
    fair = len(cases) if len(cases) * each <= MAX_KEYS else -(-SAMPLE // each)
    for candidate in candidates:
        yield from keys_of_candidate(candidate, cases[: max(1, fair)], configuration, services)


def keys_of_candidate(
    candidate: Candidate,
    cases: Sequence[Case],
    configuration: Configuration,
    services: Mapping[str, str],
) -> Iterator[tuple[str, Request]]:
    target = configuration.target(TargetParts())
    called = configuration.models_called(candidate.document)
    if not called:
        return  # it computes, and asks no model
    service = services[called[0]["endpoint"]]
    for case in cases:
        for repeat in range(configuration.repeats):
            try:
                if request := target.opening(candidate, case, repeat):
                    yield cache_key(service, request), request
            except EngineError:
                continue  # such a trial fails before it is sent
