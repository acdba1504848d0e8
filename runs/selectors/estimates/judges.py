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
    costs = [cost_of_call(scorer, endpoints, shown) for scorer in asking]
    calls = [scorer.calls * trials.most for scorer in asking]
    if None in costs:
        models = [m.label for scorer, one in zip(asking, costs, strict=True)
                  if one is None for m in scorer.models.values()]  # fmt: skip
        return JudgeEstimate(sum(calls), f"unknown: no price for {', '.join(models)}")
    dollars = sum(n * (each or 0.0) for n, each in zip(calls, costs, strict=True))
    return JudgeEstimate(sum(calls), f"about {formatting.dollars(dollars)}", dollars)


def cost_of_call(
    scorer: AskingScorer, endpoints: Mapping[str, Endpoint], shown: float
) -> float | None:
    """None if one of its models has no price."""
    use = scorer.guess_tokens(round(shown), EXPECTED_ANSWER_TOKENS)
    prices = [
        read_prices(endpoints[model.endpoint].prices).get(model.model)
        for model in scorer.models.values()
    ]
    costs = [cost_of(price, *use) for price in prices]
    return None if None in costs else max((cost or 0.0 for cost in costs), default=0.0)
