"""The answer came soon enough."""

from typing import ClassVar

from pydantic import Field

from workers.engine.records import Case, Facts, Judgement
from workers.engine.scorers.base import FactScorer

LONGEST_LIMIT = 3_600_000  # milliseconds; no call takes an hour


class Latency(FactScorer):
    name: ClassVar[str] = "latency"
    summary: ClassVar[str] = (
        "The answer came within a limit of time: that of the original call, also when it is cached."
    )

    milliseconds: float = Field(
        gt=0,
        le=LONGEST_LIMIT,
        description="The longest that an answer may take. Waiting for a slot does not count.",
    )

    def judge_facts(self, answer: str, case: Case, facts: Facts) -> Judgement:
        if facts.latency_ms is None:
            return self.not_scored("how long the answer took is unknown")
        passed = facts.latency_ms <= self.milliseconds
        limit = f"{self.milliseconds:,.10g} ms are allowed"
        return self.verdict(passed, f"took {facts.latency_ms:,.0f} ms, {limit}")
