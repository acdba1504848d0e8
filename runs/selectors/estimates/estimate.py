"""What a run would take, before it is started: calls, cached calls, money, time, and its limit."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from django.db.models import QuerySet

from runs import formatting
from runs.models import Dataset, Endpoint
from runs.selectors.case_sources import CaseSource, source_of
from runs.selectors.estimates.calls import Calls, count_calls
from runs.selectors.estimates.judges import estimate_judges
from runs.selectors.estimates.limits import binding_limit
from runs.selectors.estimates.past_calls import ModelHistory, history_of, merged_latency
from runs.selectors.estimates.slots import product_text, slots_of, slots_text
from runs.selectors.limits.budgets import amount_text
from runs.selectors.named_parts import refuse_archived
from workers.engine.calling.calls import expected_tokens
from workers.engine.calling.prices import cost_of, read_prices
from workers.engine.chunks import Allocation
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.kinds import read_configuration
from workers.engine.spec.configuration import (
    Budget,
    Configuration,
    TrialRange,
    check_against,
    with_expected,
)
from workers.engine.spec.line_ends import with_plain_line_ends
from workers.engine.statistics.intervals import percentile

ASSUMED_SECONDS = 1.0  # a call's latency when there is no history
COST_SPREAD = 0.25  # answers differ in length; the range says by how much the cost may
NO_SPLIT = Allocation(candidates=1, cases_per_candidate=1)


@dataclass(frozen=True)
class Estimate:
    problems: list[Problem] = field(default_factory=list)
    candidates: int = 0
    cases: int = 0
    rows: int = 0  # of the dataset, of which the cases are the first
    expected: str = ""  # the column that answers are compared with
    repeats: int = 1
    product: str = ""
    trials_low: int = 0
    trials: int = 0  # at most
    calls_cached: int = 0
    calls_cached_text: str = ""
    calls_low: int = 0
    calls_to_send: int = 0  # at most, without those of judges
    judge_calls: int = 0  # at most
    judge_cost_text: str = ""
    max_concurrent: int | None = 0  # None: as many as the endpoints allow
    slots: int = 0  # of them: what the endpoints allow, too
    allocation: Allocation = NO_SPLIT
    usable_slots_static: int = 0
    slots_lent: int = 0
    slots_text: str = ""
    cost_text: str = ""
    dollars: float = 0.0  # at most, with judges; 0 where a price is unknown
    over_budget: list[str] = field(default_factory=list)
    seconds_low: float = 0.0
    seconds_high: float = 0.0
    limited_by: str = ""
    basis: str = ""

    @property
    def everything(self) -> int:
        return self.candidates * self.cases * self.repeats


def estimate(document: dict[str, Any], datasets: QuerySet[Dataset]) -> Estimate:
    """For somebody who may use these datasets. Never raises for a bad document: its problems are
    part of the answer."""
    try:
        configuration = read_configuration(with_plain_line_ends(document))
        source = source_of(configuration, datasets)
        configuration = with_expected(configuration, source.expected)
        endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.all()}
        refuse_archived(configuration, source.dataset, endpoints)
        check_against(
            configuration,
            endpoints={name: endpoint.prices for name, endpoint in endpoints.items()},
            columns=source.columns,
            cases=len(source.positions),
        )
    except ConfigurationError as error:
        return Estimate(problems=error.problems)
    return measure(configuration, source, endpoints)


def measure(
    configuration: Configuration, source: CaseSource, endpoints: dict[str, Endpoint]
) -> Estimate:
    cases = len(source.positions)
    bounds = configuration.bound_trials(cases)
    calls = count_calls(configuration, source, endpoints, bounds)
    histories = [history_of(model.endpoint, model.model) for model in configuration.called]
    plan = slots_of(configuration, cases, endpoints)
    judges = estimate_judges(configuration, endpoints, bounds, calls.requests)
    all_calls = replace(calls, to_send=calls.to_send + judges.calls)
    time = time_of(configuration, endpoints, histories, all_calls)
    cost = cost_of_run(configuration, endpoints, histories, calls)
    return Estimate(
        candidates=configuration.candidates,
        cases=cases,
        rows=source.rows,
        expected=configuration.expected_column,
        repeats=configuration.repeats,
        product=product_text(configuration, cases, source.rows),
        trials_low=bounds.least,
        trials=bounds.most,
        calls_cached=calls.cached,
        calls_cached_text=cached_text(calls),
        calls_low=round(calls.to_send * calls.least_share),
        calls_to_send=calls.to_send,
        judge_calls=judges.calls,
        judge_cost_text=judges.cost_text,
        max_concurrent=configuration.limits.max_concurrent,
        slots=plan.slots,
        allocation=plan.split,
        usable_slots_static=plan.in_split,
        slots_lent=plan.lent,
        slots_text=slots_text(configuration, plan),
        cost_text=cost.text,
        dollars=cost.high + judges.dollars,
        over_budget=over_budget(
            configuration.budget,
            calls=all_calls.to_send,
            dollars=cost.high + judges.dollars,
            seconds=time.high,
        ),
        seconds_low=time.low,
        seconds_high=time.high,
        limited_by=time.limited_by,
        basis=basis_of(histories) + range_text(bounds),
    )


class Time(NamedTuple):
    low: float
    high: float
    limited_by: str


def time_of(
    configuration: Configuration,
    endpoints: dict[str, Endpoint],
    histories: list[ModelHistory],
    calls: Calls,
) -> Time:
    """From the middle half of the latencies seen; at least one call's time."""
    if not calls.to_send:
        return Time(0.0, 0.0, "nothing: every answer is in the cache")
    bins = merged_latency(histories)
    seconds = [(percentile(bins, q) or ASSUMED_SECONDS * 1000) / 1000 for q in (0.25, 0.5, 0.75)]
    tokens = tokens_each(histories, calls)
    low, middle, high = (binding_limit(configuration, endpoints, each, tokens) for each in seconds)
    return Time(
        max(seconds[0], calls.least_share * calls.to_send / low.calls_per_second),
        max(seconds[2], calls.to_send / high.calls_per_second),
        f"{middle.name}; {middle.lever}",
    )


def tokens_each(histories: list[ModelHistory], calls: Calls) -> float:
    known = [h.tokens_in + (h.tokens_out or 0) for h in histories if h.tokens_in]
    if known:
        return max(1.0, sum(known) / len(known))
    guessed = [expected_tokens(request) for request in calls.requests]
    return max(1.0, sum(guessed) / len(guessed)) if guessed else 1.0


def cached_text(calls: Calls) -> str:
    if not calls.is_sampled:
        return formatting.exact_count(calls.cached)
    low, high = formatting.count(calls.cached_low), formatting.count(calls.cached_high)
    return f"about {formatting.count(calls.cached)} ({low} to {high}, from a sample)"


def over_budget(budget: Budget, **needed: float) -> list[str]:
    """A sentence for each budget that the run may use up before it is done."""
    return [
        f"It may take {amount_text(name, needed[name])}, and pauses at the budget of "
        f"{amount_text(name, total)}."
        for name, total in budget
        if total is not None and needed[name] > total
    ]


class Cost(NamedTuple):
    text: str
    high: float


def cost_of_run(
    configuration: Configuration,
    endpoints: dict[str, Endpoint],
    histories: list[ModelHistory],
    calls: Calls,
) -> Cost:
    """A range in dollars, or why it cannot be known."""
    if not calls.to_send:
        return Cost(formatting.dollars(0.0), 0.0)
    each = calls.to_send / len(configuration.called)
    costs: list[float] = []
    unpriced: list[str] = []
    for model, history in zip(configuration.called, histories, strict=True):
        price = read_prices(endpoints[model.endpoint].prices).get(model.model)
        one = cost_of(price, *call_tokens(history, calls))
        if one is None:
            unpriced.append(model.label)
        else:
            costs.append(one * each)
    if unpriced:
        return Cost(f"unknown: no price for {', '.join(unpriced)}", 0.0)
    total = sum(costs)
    low, high = total * calls.least_share * (1 - COST_SPREAD), total * (1 + COST_SPREAD)
    return Cost(f"{formatting.dollars(low)} – {formatting.dollars(high)}", high)


def call_tokens(history: ModelHistory, calls: Calls) -> tuple[int, int]:
    """Of one call: as seen, or guessed from what would be sent."""
    if history.tokens_in:
        return round(history.tokens_in), round(history.tokens_out or 0)
    if not calls.requests:
        return 0, 0
    guessed = sum(expected_tokens(request) for request in calls.requests) / len(calls.requests)
    return round(guessed / 2), round(guessed / 2)


def range_text(bounds: TrialRange) -> str:
    """Why there is a range, where the strategy decides."""
    if bounds.least == bounds.most:
        return ""
    return (
        " The lower numbers are for the first round alone, the higher ones for every trial that "
        "the strategy may ask for. Answers from the cache are not subtracted."
    )


def basis_of(histories: list[ModelHistory]) -> str:
    calls = sum(history.calls for history in histories)
    if not calls:
        return f"No past calls of these models: {ASSUMED_SECONDS:g} s a call is assumed."
    return f"From {formatting.exact_count(calls)} past calls of these models."
