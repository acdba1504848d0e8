"""What every critic is: a model that judges, or a panel of several, and what becomes of their
opinions."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from workers.engine.errors import CallError, ScorerFailed
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Ask, AskingScorer
from workers.engine.spec.model_choice import ModelChoice

MOST_JUDGES = 9
LARGEST_REASON = 150  # characters of each judge's reason, where several give one


class Opinion(NamedTuple):
    """What one judge thinks of one answer."""

    value: float
    label: str
    reason: str


class CriticScorer(AskingScorer):
    needs_expected: ClassVar[bool] = False  # it is shown to the judge where there is one
    calls_are_each: ClassVar[bool] = True

    judge: ModelChoice | None = Field(
        None, description="The model that judges, as endpoint/model. Several: as judges."
    )
    judges: Annotated[tuple[ModelChoice, ...], Field(max_length=MOST_JUDGES)] = Field(
        (),
        description="A panel: models that all judge the same answers, each as endpoint/model, "
        "instead of the one judge or besides it; in the form, one a line. The run then shows how "
        "well they agree.",
    )
    combine: Literal["mean", "majority"] = Field(
        "mean",
        description="What a panel's value is: the mean of its judges' values, or 1 where more than "
        "half of them find the answer right, 0.5 where half of them do, else 0.",
    )
    threshold: float = Field(
        default=0.5, ge=0, le=1, description="The lowest score with which an answer is right."
    )

    @model_validator(mode="after")
    def check_judges(self) -> Self:
        if not self.bench:
            raise ValueError(
                "Name the model that judges, as in judge: ENDPOINT/MODEL, or several as judges: "
                "[ENDPOINT/MODEL, ENDPOINT/MODEL]."
            )
        if len(self.bench) > MOST_JUDGES:
            raise ValueError(f"At most {MOST_JUDGES} models may judge an answer.")
        labels = [judge.full_label for judge in self.bench]
        if len(set(labels)) < len(labels):
            raise ValueError(
                "A judge is named twice: it would agree with itself. Name each model once, or give "
                "it other parameters."
            )
        return self

    @property
    def bench(self) -> tuple[ModelChoice, ...]:
        """All that judge."""
        return (*([self.judge] if self.judge else []), *self.judges)

    @property
    def is_panel(self) -> bool:
        return len(self.bench) > 1

    @abstractmethod
    async def opinion(self, judge: ModelChoice, answer: str, case: Case, ask: Ask) -> Opinion:
        """What one judge says. ScorerFailed if it says nothing that can be read."""

    async def judge_by_asking(self, answer: str, case: Case, ask: Ask) -> Judgement:
        if not self.is_panel:
            one = await self.opinion(self.bench[0], answer, case, ask)
            passed = one.value >= self.threshold
            return Judgement(self.own_name, one.value, passed, one.reason, one.label)
        found = await asyncio.gather(
            *(self.opinion(judge, answer, case, ask) for judge in self.bench),
            return_exceptions=True,
        )
        opinions = [one for one in found if isinstance(one, Opinion)]
        if len(opinions) < len(found):  # all were waited for: their calls are paid
            raise self._no_verdict(found)
        return self._combined(opinions)

    def _no_verdict(self, found: Sequence[Opinion | BaseException]) -> BaseException:
        """The mean of the others would be one of another panel: it could not be compared."""
        failed = [
            (judge, error)
            for judge, error in zip(self.bench, found, strict=True)
            if isinstance(error, BaseException)
        ]
        for _, error in failed:
            if not isinstance(error, CallError):
                return error
        told = "; ".join(f"{judge.label}: {error}" for judge, error in failed)
        return ScorerFailed(
            f"{len(failed)} of {len(found)} judges of {self.own_name} gave no verdict, and a panel "
            f"has one only with all of them. Retry: the stored answer is judged again. {told}"
        )

    def _combined(self, opinions: Sequence[Opinion]) -> Judgement:
        values = [one.value for one in opinions]
        right = sum(value >= self.threshold for value in values)
        if self.combine == "majority":
            value = (1 + (2 * right > len(values)) - (2 * right < len(values))) / 2
            passed = 2 * right > len(values)
        else:
            value = sum(values) / len(values)
            passed = value >= self.threshold
        label = f"{max(right, len(values) - right)} of {len(values)} agree"
        told = "; ".join(
            f"{judge.label} {one.value:.2f}: {one.reason[:LARGEST_REASON].rstrip('.')}"
            for judge, one in zip(self.bench, opinions, strict=True)
        )
        return Judgement(self.own_name, value, passed, told, label, votes=tuple(values))
