"""What scorers that ask a model would add to a run: calls and money, apart from the candidates'."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runs import formatting
from runs.models import Endpoint
from workers.engine.calling.calls import EXPECTED_ANSWER_TOKENS, prompt_tokens
from workers.engine.calling.prices import cost_of, read_prices
from workers.engine.records import Request
from workers.engine.scorers import AskingScorer, build_scorer
from workers.engine.spec.configuration import Configuration, TrialRange


class JudgeEstimate(NamedTuple):
    """At most: equal answers are judged once, and texts to embed travel together."""

    calls: int = 0
    cost_text: str = ""
    dollars: float = 0.0


def estimate_judges(
    configuration: Configuration,
    endpoints: Mapping[str, Endpoint],
    trials: TrialRange,
    requests: Sequence[Request],
) -> JudgeEstimate:
    """`requests`: some that candidates would send, to guess what a judge is shown."""
    scorers = [build_scorer(one.name, one.options) for one in configuration.scorers]
    asking = [scorer for scorer in scorers if isinstance(scorer, AskingScorer)]
    if not asking:
        return JudgeEstimate()
    shown = sum(map(prompt_tokens, requests)) / len(requests) if requests else 0.0
    costs = [cost_of_answer(scorer, endpoints, shown) for scorer in asking]
    calls = sum(calls_for(scorer) for scorer in asking) * trials.most
    if None in costs:
        unknown = [scorer for scorer, one in zip(asking, costs, strict=True) if one is None]
        models = [model.label for scorer in unknown for model in scorer.models.values()]
        told = ", ".join(dict.fromkeys(models))
        return JudgeEstimate(calls, f"unknown: no price for {told}")
    dollars = sum(each or 0.0 for each in costs) * trials.most
    return JudgeEstimate(calls, f"about {formatting.dollars(dollars)}", dollars)


def calls_for(scorer: AskingScorer) -> int:
    """For one answer. Replies that must be asked for again are too rare to be counted."""
    return scorer.calls * (len(scorer.models) if scorer.calls_are_each else 1)


def cost_of_answer(
    scorer: AskingScorer, endpoints: Mapping[str, Endpoint], shown: float
) -> float | None:
    """None if one of its models has no price."""
    use = scorer.guess_tokens(round(shown), EXPECTED_ANSWER_TOKENS)
    prices = [
        read_prices(endpoints[model.endpoint].prices).get(model.model)
        for model in scorer.models.values()
    ]
    costs = [cost_of(price, *use) for price in prices]
    if None in costs:
        return None
    known = [cost or 0.0 for cost in costs]
    each = sum(known) if scorer.calls_are_each else max(known, default=0.0)
    return scorer.calls * each
