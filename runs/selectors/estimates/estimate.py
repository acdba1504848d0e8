"""What a run would take, before it is started: calls, cached calls, money, time, and its limit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet

from runs import formatting
from runs.kinds import kind_named
from runs.models import Dataset, Endpoint, Prompt
from runs.selectors.case_sources import CaseSource, source_of
from runs.selectors.estimates.calls import Calls, ModelCalls, count_calls
from runs.selectors.estimates.computing import estimate_computing
from runs.selectors.estimates.costs import Asked, asked_models, at_most, cost_of_calls
from runs.selectors.estimates.judges import estimate_judges
from runs.selectors.estimates.limits import binding_limit
from runs.selectors.estimates.past_calls import ModelHistory, merged_latency
from runs.selectors.estimates.review import review_text
from runs.selectors.estimates.slots import (
    bounds_text,
    count_every,
    product_text,
    slots_of,
    slots_text,
)
from runs.selectors.limits.budgets import amount_text
from runs.selectors.named_parts import refuse_archived, refuse_webhooks, refuse_written_code
from runs.selectors.prompts import read_with_library
from workers.engine.calling.calls import expected_tokens
from workers.engine.chunks import Allocation
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.checks import check_against
from workers.engine.spec.configuration import (
    Budget,
    Configuration,
    TrialRange,
    with_expected,
)
from workers.engine.spec.line_ends import with_plain_line_ends
from workers.engine.statistics.intervals import percentile
from workers.engine.strategies.confirmed import split_cases

ASSUMED_SECONDS = 1.0  # a call's latency when there is no history
NO_SPLIT = Allocation(candidates=1, cases_per_candidate=1)


@dataclass(frozen=True)
class Estimate:
    problems: list[Problem] = field(default_factory=list)
    candidates: int = 0
    cases: int = 0
    rows: int = 0  # of the dataset, of which the cases are the first
    held_out: int = 0  # cases beside those
    on_held_out: str = ""  # what happens on them at the end
    confirming: int = 0  # trials that this takes
    expected: str = ""  # the column that answers are compared with
    repeats: int = 1
    product: str = ""
    everything: int = 0  # what it comes to: trials, if none is spared
    bounds_text: str = ""  # why there may be fewer trials than the product
    trials_low: int = 0
    trials: int = 0  # at most
    calls_cached: int = 0
    calls_cached_text: str = ""
    calls_low: int = 0
    calls_to_send: int = 0  # at most, without those of judges
    proposals: int = 0  # of these, at most: they make candidates
    proposals_cost_text: str = ""  # a part of the cost
    judge_calls: int = 0  # at most
    judge_cost_text: str = ""
    max_concurrent: int | None = 0  # None: as many as the endpoints allow
    slots: int = 0  # of them: what the endpoints allow, too
    allocation: Allocation = NO_SPLIT
    usable_slots_static: int = 0
    slots_lent: int = 0
    slots_text: str = ""
    cost_text: str = ""
    is_priced: bool = True  # all models that answer have a price
    dollars: float = 0.0  # at most, with judges; 0 where a price is unknown
    over_budget: list[str] = field(default_factory=list)
    seconds_low: float = 0.0
    seconds_high: float = 0.0
    limited_by: str = ""
    basis: str = ""
    calls_models: bool = True  # else it only computes
    review: str = ""  # what a launch does, in a sentence or two
    no_dry_run: str = ""  # why its first trials cannot be tried before


def estimate(
    document: dict[str, Any],
    datasets: QuerySet[Dataset],
    person: AbstractBaseUser | None = None,
    prompts: QuerySet[Prompt] | None = None,
    own: Mapping[str, Endpoint] | None = None,
) -> Estimate:
    """For a person who may use these datasets, and these prompts of the library; without a person
    for a command, whose file may bring endpoints of its `own`. Never raises for a bad document: its
    problems are part of the answer."""
    try:
        library = Prompt.objects.none() if prompts is None else prompts
        configuration = read_with_library(with_plain_line_ends(document), library).configuration
        source = source_of(configuration, datasets)
        configuration = with_expected(configuration, source.expected)
        endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.all()}
        endpoints.update(own or {})
        refuse_archived(configuration, source.dataset, endpoints)
        refuse_written_code(person, configuration)
        refuse_webhooks(configuration)
        check_against(
            configuration,
            endpoints={name: endpoint.prices for name, endpoint in endpoints.items()},
            columns=source.columns,
            cases=len(source.positions),
        )
    except ConfigurationError as error:
        return Estimate(problems=error.problems)
    found = measure(configuration, source, endpoints)
    calls = found.calls_to_send + found.judge_calls
    return replace(
        found,
        review=review_text(
            configuration, found.cases, calls, found.dollars, is_priced=found.is_priced
        ),
        no_dry_run=configuration.why_no_dry_run(),
    )


def measure(
    configuration: Configuration, source: CaseSource, endpoints: dict[str, Endpoint]
) -> Estimate:
    every = len(source.positions)
    confirming = configuration.count_confirming(every)
    source = without_held_out(configuration, source)
    cases = len(source.positions)
    bounds = configuration.bound_trials(cases)
    # At most: nobody knows yet who is best, and whether its answers are cached.
    more = confirming * configuration.calls_per_trial()
    calls = count_calls(configuration, source, endpoints, bounds).plus(more)
    asked = asked_models(configuration, calls)
    plan = slots_of(configuration, cases, endpoints)
    judged = answers_judged(configuration, bounds, confirming)
    judges = estimate_judges(configuration, endpoints, judged, calls.requests)
    all_calls = calls.plus(judges.calls, round(judges.calls * (1 - judged.least / judged.most)))
    time = time_of(configuration, endpoints, asked, all_calls, cases)
    cost = cost_of_calls(asked, endpoints, calls)
    dollars = cost.high + judges.dollars
    told = cost_of_calls(asked[len(configuration.answering) :], endpoints, calls)
    return Estimate(
        candidates=configuration.candidates,
        cases=cases,
        rows=source.rows,
        expected=configuration.expected_column,
        repeats=configuration.repeats,
        product=product_text(configuration, cases, source.rows),
        everything=count_every(configuration, cases),
        bounds_text=bounds_text(configuration, cases, bounds),
        held_out=configuration.count_held_out(every),
        on_held_out=kind_named(configuration.kind).on_held_out(configuration),
        confirming=confirming,
        trials_low=bounds.least,
        trials=bounds.most,
        calls_cached=calls.cached,
        calls_cached_text=cached_text(calls),
        calls_low=calls.to_send - calls.fewer,
        calls_to_send=calls.to_send,
        proposals=sum(each.trials for each in calls.told),
        proposals_cost_text=at_most(told),
        judge_calls=judges.calls,
        judge_cost_text=judges.cost_text,
        max_concurrent=configuration.limits.max_concurrent,
        slots=plan.slots,
        allocation=plan.split,
        usable_slots_static=plan.in_split,
        slots_lent=plan.lent,
        slots_text=slots_text(configuration, plan),
        cost_text=cost.text,
        is_priced=cost.is_known,
        dollars=dollars,
        over_budget=over_budget(
            configuration.budget, calls=all_calls.to_send, dollars=dollars, seconds=time.high
        ),
        seconds_low=time.low,
        seconds_high=time.high,
        limited_by=time.limited_by,
        basis=time.basis + range_text(bounds),
        calls_models=bool(configuration.every_model),
    )


def answers_judged(configuration: Configuration, bounds: TrialRange, confirming: int) -> TrialRange:
    each = configuration.answers_per_trial()
    return TrialRange((bounds.least + confirming) * each, (bounds.most + confirming) * each)


def without_held_out(configuration: Configuration, source: CaseSource) -> CaseSource:
    """With the cases that candidates are ranked by."""
    if configuration.held_out is None:
        return source
    cases = len(source.positions)
    split = split_cases(cases, configuration.count_held_out(cases), configuration.seed)
    return source._replace(positions=[source.positions[case] for case in split.ranked])


class Time(NamedTuple):
    low: float
    high: float
    limited_by: str
    basis: str


def time_of(
    configuration: Configuration,
    endpoints: dict[str, Endpoint],
    asked: Sequence[Asked],
    calls: Calls,
    cases: int,
) -> Time:
    """From the middle half of the latencies seen. Rounds follow each other: each takes at least as
    long as the slowest of its trials."""
    histories = [each.history for each in asked]
    basis, most = basis_of(histories), configuration.bound_trials(cases).most
    if not configuration.every_model:
        return Time(*estimate_computing(configuration, most))
    if not calls.to_send:
        return Time(0.0, 0.0, "nothing: every answer is in the cache", basis)
    shares = [ModelCalls(each.model, each.calls) for each in asked]
    bins = merged_latency(histories)
    seconds = [(percentile(bins, q) or ASSUMED_SECONDS * 1000) / 1000 for q in (0.25, 0.5, 0.75)]
    tokens = tokens_each(histories, calls)
    low, middle, high = (
        binding_limit(configuration, endpoints, shares, each, tokens) for each in seconds
    )
    in_a_row = configuration.calls_in_a_row()
    slowest = in_a_row * (percentile(bins, 0.95) or ASSUMED_SECONDS * 1000) / 1000
    each = calls.to_send / max(1, most) / high.calls_per_second
    rounds = configuration.sizes_of_rounds(cases)
    one_after_the_other = sum(max(slowest, trials * each) for trials in rounds)
    return Time(
        max(in_a_row * seconds[0], calls.least_share * calls.to_send / low.calls_per_second),
        max(calls.to_send / high.calls_per_second, one_after_the_other),
        f"{middle.name}; {middle.lever}",
        basis,
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
