"""All that decides how a segment goes on, besides the policy: it travels with the candidate, as the
worker that plays it has nothing else."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from workers.engine.json_text import to_json
from workers.engine.kinds.mutate.goals import GOALS, Goal
from workers.engine.kinds.mutate.operators import Operator, OperatorChoice
from workers.engine.scorers import AnyScorer, build_scorer
from workers.engine.spec.model_choice import ModelChoice
from workers.engine.verdicts import Combination

Carry = Literal["rewarded", "always", "never"]


class Rules(NamedTuple):
    seed: int
    names: tuple[str, ...]  # of the operators: an action is a place among them
    operators: tuple[Operator, ...]
    goal: Goal
    query: str  # the template of the query
    system: str  # what the target is told besides
    max_steps: int
    num_steps: int
    carry: Carry
    carry_above: float
    success_above: float
    observation_size: int
    mutator: ModelChoice | None
    target: ModelChoice
    embedder: ModelChoice | None
    scorers: tuple[AnyScorer, ...]
    combination: Combination

    def carries(self, reward: float) -> bool:
        """Whether the next step goes on from the rewritten query."""
        return self.carry == "always" or (self.carry == "rewarded" and reward > self.carry_above)


def rules_of(document: Mapping[str, Any]) -> Rules:
    """From the rules of a candidate's document."""
    return _read(to_json(document))


@lru_cache(maxsize=32)
def _read(text: bytes) -> Rules:
    import orjson

    given = orjson.loads(text)
    operators = [OperatorChoice.model_validate(one) for one in given["operators"]]
    scorers = tuple(build_scorer(one["name"], one["options"]) for one in given["scorers"])
    roles = {
        role: ModelChoice.model_validate(model) if model else None
        for role, model in given["roles"].items()
    }
    target = roles["target"]
    assert target is not None  # the schema asks for it
    kept = ("seed", "query", "system", "max_steps", "num_steps", "carry", "carry_above")
    return Rules(
        **{name: given[name] for name in kept},
        success_above=given["success_above"],
        observation_size=given["observation_size"],
        names=tuple(one.name for one in operators),
        operators=tuple(one.operator for one in operators),
        goal=GOALS[given["goal"]],
        mutator=roles["mutator"],
        target=target,
        embedder=roles["embedder"],
        scorers=scorers,
        combination=Combination(
            tuple(one.counts for one in scorers), needs_all=given["combine"] == "all"
        ),
    )
