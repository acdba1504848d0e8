"""Scorers turn an answer into a value. To add one: copy exact.py, then add its line below."""

from collections.abc import Mapping
from typing import Any

from workers.engine.named import Registry
from workers.engine.scorers.base import AskingScorer, BaseScorer, FactScorer, PostingScorer, Scorer
from workers.engine.scorers.choice import Choice
from workers.engine.scorers.closeness.bleu import Bleu
from workers.engine.scorers.closeness.edit_distance import EditDistance
from workers.engine.scorers.closeness.rouge_l import RougeL
from workers.engine.scorers.closeness.token_f1 import TokenF1
from workers.engine.scorers.code import Code
from workers.engine.scorers.contains import Contains
from workers.engine.scorers.cost import Cost
from workers.engine.scorers.critics.closed_question import ClosedQuestion
from workers.engine.scorers.critics.factuality import Factuality
from workers.engine.scorers.critics.pairwise import Pairwise
from workers.engine.scorers.critics.rubric import Rubric
from workers.engine.scorers.exact import Exact
from workers.engine.scorers.json_form import Json
from workers.engine.scorers.json_schema import JsonSchema
from workers.engine.scorers.latency import Latency
from workers.engine.scorers.numeric import Numeric
from workers.engine.scorers.regex import Regex
from workers.engine.scorers.similarity import Similarity
from workers.engine.scorers.starts_with import StartsWith
from workers.engine.scorers.tool_call import ToolCallScorer
from workers.engine.scorers.webhook import Webhook

__all__ = [
    "SCORERS",
    "AnyScorer",
    "AskingScorer",
    "BaseScorer",
    "PostingScorer",
    "Scorer",
    "build_scorer",
    "is_ours",
    "problem_with_scorer",
]

AnyScorer = Scorer | AskingScorer | PostingScorer


def adopt(plugin: object) -> type[AnyScorer] | None:
    """A class derived from one of ours, and not one of them, which a package may export."""
    if plugin in (Scorer, FactScorer, AskingScorer) or not isinstance(plugin, type):
        return None
    return plugin if issubclass(plugin, Scorer | AskingScorer) else None


SCORERS: Registry[AnyScorer] = Registry(
    "scorer",
    {
        "exact": Exact,
        "contains": Contains,
        "starts_with": StartsWith,
        "regex": Regex,
        "numeric": Numeric,
        "choice": Choice,
        "json": Json,
        "json_schema": JsonSchema,
        "tool_call": ToolCallScorer,
        "edit_distance": EditDistance,
        "token_f1": TokenF1,
        "rouge_l": RougeL,
        "bleu": Bleu,
        "similarity": Similarity,
        "rubric": Rubric,
        "factuality": Factuality,
        "closed_question": ClosedQuestion,
        "pairwise": Pairwise,
        "latency": Latency,
        "cost": Cost,
        "webhook": Webhook,
        "code": Code,
    },
    adopt=adopt,
    example="{numeric: {tolerance: 0.001}}",
)


def build_scorer(name: str, options: Mapping[str, Any]) -> AnyScorer:
    """A scorer ready to judge. ValueError lists everything wrong with its options."""
    scorer: AnyScorer = SCORERS.choose(name, options).options
    return scorer


def problem_with_scorer(name: str, options: Mapping[str, Any]) -> str:
    """Why no run may be made with it. Empty: nothing is wrong."""
    try:
        return build_scorer(name, options).problem
    except ValueError as error:
        return str(error)


def is_ours(scorer: AnyScorer) -> bool:
    """Whether its code is known to be well-behaved: that of a plug-in is not."""
    return type(scorer) in SCORERS.ours.values()
