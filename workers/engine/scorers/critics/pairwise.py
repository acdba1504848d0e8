"""A model says which of two answers is better, asked twice with their order swapped.

Models tend to prefer what stands first, or last. One that changes its mind with the order has not
said that either is better.
"""

import asyncio
from dataclasses import replace
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from workers.engine.errors import ScorerFailed
from workers.engine.messages.filling import fill
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Ask, expected_of
from workers.engine.scorers.critics.base import CriticScorer, Opinion
from workers.engine.scorers.critics.brief import Brief, Text, texts_of_case
from workers.engine.scorers.critics.verdicts import Verdict, ask_judge
from workers.engine.spec.model_choice import ModelChoice
from workers.engine.targets.chat import chat_request

TASK = (
    "Say which of two answers to the same case is better, the first or the second.\n\nBetter is:\n"
)
CRITERIA = "The answer that is correct. Of two correct ones, the more helpful and complete one."
OTHER = "(the other answer)"  # as a field of the case, for the judges of one answer
LONGEST_PROMPT = 100_000  # characters
VALUES = {"better": 1.0, "tie": 0.5, "worse": 0.0}
SEEN = {  # by what the judge said: with the answer first, and with the answer second
    "first": ("better", "worse"),
    "second": ("worse", "better"),
    "tie": ("tie", "tie"),
}


class Preference(Verdict):
    example: ClassVar[str] = '{"better": "first", "reason": "one sentence"}'
    form: ClassVar[str] = "Better is first, second or tie."

    better: Literal["first", "second", "tie"]


class Pairwise(CriticScorer):
    name: ClassVar[str] = "pairwise"
    summary: ClassVar[str] = (
        "A model says whether the answer is better than another text, or than another model's "
        "answer, asked in both orders."
    )
    calls: ClassVar[int] = 2

    against: str = Field(
        default="",
        max_length=200,
        description="The column that holds the other text. Empty: the expected answer.",
    )
    other_model: ModelChoice | None = Field(
        None,
        description="The model whose answer to the case is the other text, as endpoint/model. With "
        "the prompt of another candidate it is that candidate's answer, asked for once: the cache "
        "has it.",
    )
    other_system: str = Field(
        default="", max_length=LONGEST_PROMPT, description="What that model is told as system."
    )
    other_user: str = Field(
        default="{{question}}",
        min_length=1,
        max_length=LONGEST_PROMPT,
        description="What that model is asked, with columns in double braces.",
    )
    criteria: str = Field(
        default=CRITERIA,
        min_length=1,
        max_length=20_000,
        description="What makes one answer better than another.",
    )

    @model_validator(mode="after")
    def check_other(self) -> Self:
        if self.against and self.other_model:
            raise ValueError("Compare with the column `against`, or with `other_model`, not both.")
        return self

    async def judge_by_asking(self, answer: str, case: Case, ask: Ask) -> Judgement:
        if self.other_model is not None:  # once, for all judges
            case = replace(case, fields={**case.fields, OTHER: await self._ask_other(case, ask)})
        return await super().judge_by_asking(answer, case, ask)

    async def _ask_other(self, case: Case, ask: Ask) -> str:
        """Word for word as a candidate asks for its first repeat: whoever comes first is answered
        by the model, the other one by the cache, so that no trial waits for another."""
        assert self.other_model is not None
        prompt = {"system": self.other_system, "user": self.other_user}
        messages = fill(prompt, case.fields)
        reply = await ask(chat_request(self.other_model.model_dump(), messages, 0, ""))
        return reply.text

    async def opinion(self, judge: ModelChoice, answer: str, case: Case, ask: Ask) -> Opinion:
        other = self._other(case)
        first, second = await asyncio.gather(
            ask_judge(ask, judge, self._brief(case, answer, other), Preference),
            ask_judge(ask, judge, self._brief(case, other, answer), Preference),
            return_exceptions=True,
        )
        if isinstance(first, BaseException):
            raise first
        if isinstance(second, BaseException):
            raise second
        before, after = SEEN[first.better][0], SEEN[second.better][1]
        if before == after:
            return Opinion(VALUES[before], before, first.reason)
        told = (
            f"The judge changed its mind with the order: {before} when first, {after} when second."
        )
        return Opinion(VALUES["tie"], "changed its mind", f"{told} {first.reason}")

    def _other(self, case: Case) -> str:
        if self.other_model is not None:
            return case.fields[OTHER]
        if not self.against:
            return expected_of(case, self.own_name)
        other = case.fields.get(self.against)
        if other is None or not other.strip():
            raise ScorerFailed(
                f"Case {case.position} has no text in `{self.against}`, which the scorer "
                f"{self.own_name} compares with. Fill it in, or choose another column as `against`."
            )
        return other

    def _brief(self, case: Case, first: str, second: str) -> Brief:
        other = OTHER if self.other_model else self.against or case.expected_column
        texts = (
            *texts_of_case(case, without=other),
            Text("First answer", first),
            Text("Second answer", second),
        )
        return Brief(TASK + self.criteria, Preference.example, Preference.form, texts)
