"""The answer is cheap enough."""

from typing import ClassVar

from pydantic import Field

from workers.engine.records import Case, Facts, Judgement
from workers.engine.scorers.base import FactScorer


class Cost(FactScorer):
    name: ClassVar[str] = "cost"
    summary: ClassVar[str] = (
        "The answer costs no more than a limit, paid or cached. Judges are not counted; where a "
        "price is unknown, nothing is scored."
    )

    dollars: float = Field(
        gt=0, le=1_000_000, description="The most that an answer may cost, as in 0.002."
    )

    def judge_facts(self, answer: str, case: Case, facts: Facts) -> Judgement:
        if facts.dollars is None:
            return self.not_scored("the price of a model, or its count of tokens, is unknown")
        passed = facts.dollars <= self.dollars
        told = f"costs ${plain(facts.dollars)}, ${plain(self.dollars)} is allowed"
        return self.verdict(passed, told)


def plain(dollars: float) -> str:
    """An answer may cost a millionth, which is better read without an exponent."""
    return f"{dollars:,.9f}".rstrip("0").rstrip(".")
