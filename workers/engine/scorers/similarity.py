"""The answer means much the same as the expected text, by the angle between their embeddings."""

from typing import ClassVar

from pydantic import Field

from workers.engine.calling.embeddings import cosine, embed
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Ask, AskingScorer, expected_of
from workers.engine.spec.model_choice import ModelChoice


class Similarity(AskingScorer):
    name: ClassVar[str] = "similarity"
    summary: ClassVar[str] = (
        "The answer means much the same as the expected text: the cosine of their embeddings."
    )
    needs_expected: ClassVar[bool] = True
    calls: ClassVar[int] = 2  # texts; those of several answers travel together

    model: ModelChoice = Field(description="The model that embeds texts, as endpoint/model.")
    threshold: float = Field(
        default=0.8, ge=0, le=1, description="The lowest cosine with which an answer is right."
    )

    def guess_tokens(self, prompt: int, answer: int) -> tuple[int, int]:
        return answer, 0

    async def judge_by_asking(self, answer: str, case: Case, ask: Ask) -> Judgement:
        expected = expected_of(case, self.own_name)
        if not answer.strip():
            return self.verdict(False, "the answer is empty")
        given, wanted = await embed(ask, self.model, [answer, expected])
        if given.vector is None or wanted.vector is None:
            raise given.error or wanted.error or ValueError("There is no vector.")
        near = min(1.0, max(0.0, cosine(given.vector, wanted.vector)))
        told = f"cosine {near:.2f}, right from {self.threshold:.2f}"
        return self.graded(near, told)
