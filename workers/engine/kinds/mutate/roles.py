"""Who does what in a step, and what an answer is judged by where no scorers are given."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from workers.engine.spec.model_choice import ModelChoice, Strict

NO_REWARD = (
    "Nothing says what an answer is worth. Give scorers, or a judge or an embedder under roles."
)


class Roles(Strict):
    """A model for each role of a step."""

    mutator: ModelChoice | None = Field(
        None, description="Rewrites queries, for operators that ask a model."
    )
    target: ModelChoice = Field(description="Answers queries: the model that is tested.")
    judge: ModelChoice | None = Field(
        None, description="Judges answers where no scorers are given, as the scorer factuality."
    )
    embedder: ModelChoice | None = Field(
        None,
        description="Embeds queries for the policy. Empty: words are hashed, without a model.",
    )

    @property
    def called(self) -> list[tuple[str, ModelChoice]]:
        """All but the judge, whom the scorers name."""
        found = [("target", self.target), ("mutator", self.mutator), ("embedder", self.embedder)]
        return [(role, model) for role, model in found if model is not None]


def reward_scorers(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """ValueError if nothing can judge."""
    roles, reward = document.get("roles"), document.get("reward", "auto")
    given = roles if isinstance(roles, Mapping) else {}
    if given.get("judge") and reward in ("auto", "judge"):
        return [{"factuality": {"judge": given["judge"]}}]
    if given.get("embedder") and reward in ("auto", "similarity"):
        return [{"similarity": {"model": given["embedder"]}}]
    raise ValueError(NO_REWARD)
