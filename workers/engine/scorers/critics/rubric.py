"""A model judges the answer by a rubric."""

from typing import ClassVar

from pydantic import Field

from workers.engine.records import Case
from workers.engine.scorers.base import Ask
from workers.engine.scorers.critics.base import CriticScorer, Opinion
from workers.engine.scorers.critics.brief import Brief, Text, texts_of_case
from workers.engine.scorers.critics.verdicts import Verdict, ask_judge
from workers.engine.spec.model_choice import ModelChoice

TASK = "Rate how well an answer meets the rubric, on a scale from 0 to 1.\n\nRubric:\n"


class Rating(Verdict):
    example: ClassVar[str] = '{"score": 0.5, "reason": "one sentence"}'
    form: ClassVar[str] = "The score is a number from 0 to 1."

    score: float = Field(ge=0, le=1, allow_inf_nan=False)


class Rubric(CriticScorer):
    name: ClassVar[str] = "rubric"
    summary: ClassVar[str] = "A model judges the answer by your rubric, from 0 to 1."

    rubric: str = Field(
        min_length=1,
        max_length=20_000,
        description="What makes an answer good. The judge sees it with the case and the answer.",
    )

    async def opinion(self, judge: ModelChoice, answer: str, case: Case, ask: Ask) -> Opinion:
        texts = (*texts_of_case(case), Text("Answer", answer))
        brief = Brief(TASK + self.rubric, Rating.example, Rating.form, texts)
        rating = await ask_judge(ask, judge, brief, Rating)
        return Opinion(rating.score, "", rating.reason)
