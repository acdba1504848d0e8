"""What the calls of a run would cost, model by model."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runs import formatting
from runs.models import Endpoint
from runs.selectors.estimates.calls import Calls
from runs.selectors.estimates.past_calls import ModelHistory, history_of
from workers.engine.calling.calls import EXPECTED_ANSWER_TOKENS, expected_tokens
from workers.engine.calling.prices import cost_of, read_prices
from workers.engine.spec.configuration import Configuration, ModelChoice

SHOWN_TO_WRITERS = 8  # calls' worth of text: its task, a prompt or two, and some answers
COST_SPREAD = 0.25  # answers differ in length; the range says by how much the cost may


class Asked(NamedTuple):
    """A model with the calls that it would get, and what its past ones tell."""

    model: ModelChoice
    calls: float
    history: ModelHistory
    answers: bool  # cases; else it makes candidates


def asked_models(configuration: Configuration, calls: Calls) -> list[Asked]:
    """Those that answer cases, then those that make candidates."""
    found, answering = [], len(configuration.answering)
    for place, (model, count) in enumerate(calls.by_model(configuration)):
        answers = place < answering
        history = history_of(model.endpoint, model.model, answering=answers)
        found.append(Asked(model, count, history, answers))
    return found


class Cost(NamedTuple):
    text: str
    high: float
    is_known: bool = True


def cost_of_calls(asked: Sequence[Asked], endpoints: Mapping[str, Endpoint], calls: Calls) -> Cost:
    """A range in dollars, or why it cannot be known."""
    if not any(each.calls for each in asked):
        return Cost(formatting.dollars(0.0), 0.0)
    costs: list[float] = []
    unpriced: list[str] = []
    for each in asked:
        price = read_prices(endpoints[each.model.endpoint].prices).get(each.model.model)
        one = cost_of(price, *call_tokens(each, calls))
        if one is None:
            unpriced.append(each.model.label)
        else:
            costs.append(one * each.calls)
    if unpriced:
        models = ", ".join(dict.fromkeys(unpriced))
        return Cost(f"unknown: no price for {models}", 0.0, is_known=False)
    total = sum(costs)
    low, high = total * calls.least_share * (1 - COST_SPREAD), total * (1 + COST_SPREAD)
    return Cost(f"{formatting.dollars(low)} – {formatting.dollars(high)}", high)


def at_most(cost: Cost) -> str:
    return f"at most {formatting.dollars(cost.high)}" if cost.high else cost.text


def call_tokens(asked: Asked, calls: Calls) -> tuple[int, int]:
    """Of one call: as seen, or guessed from what would be sent."""
    history = asked.history
    if history.tokens_in:
        return round(history.tokens_in), round(history.tokens_out or 0)
    if not calls.requests:  # what it asks first is not known before: as long as an answer
        return EXPECTED_ANSWER_TOKENS, EXPECTED_ANSWER_TOKENS
    guessed = sum(expected_tokens(request) for request in calls.requests) / len(calls.requests)
    shown = 1 if asked.answers else SHOWN_TO_WRITERS
    return round(shown * guessed / 2), round(guessed / 2)
