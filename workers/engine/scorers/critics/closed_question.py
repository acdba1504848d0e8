"""A model answers a question about the answer with yes or no."""

from typing import ClassVar, Literal

from pydantic import Field

from workers.engine.records import Case
from workers.engine.scorers.base import Ask
from workers.engine.scorers.critics.base import CriticScorer, Opinion
from workers.engine.scorers.critics.brief import Brief, Text, texts_of_case
from workers.engine.scorers.critics.verdicts import Verdict, ask_judge
from workers.engine.spec.model_choice import ModelChoice

TASK = "Answer a question about an answer with yes or no.\n\nQuestion:\n"


class YesOrNo(Verdict):
    example: ClassVar[str] = '{"answer": "yes", "reason": "one sentence"}'
    form: ClassVar[str] = "The answer is yes or no."

    answer: Literal["yes", "no"]


class ClosedQuestion(CriticScorer):
    name: ClassVar[str] = "closed_question"
    summary: ClassVar[str] = "A model answers your question about the answer: yes is right."

    question: str = Field(
        min_length=1,
        max_length=20_000,
        description="What yes or no answers, as in: Does the answer name a price?",
    )

    async def opinion(self, judge: ModelChoice, answer: str, case: Case, ask: Ask) -> Opinion:
        texts = (*texts_of_case(case), Text("Answer", answer))
        brief = Brief(TASK + self.question, YesOrNo.example, YesOrNo.form, texts)
        said = await ask_judge(ask, judge, brief, YesOrNo)
        return Opinion(1.0 if said.answer == "yes" else 0.0, said.answer, said.reason)
