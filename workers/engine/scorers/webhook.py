"""A service of a person's own judges the answer. It gets answer and case, and nothing else."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workers.engine.errors import ForbiddenAddress, PrivateAddress, ScorerFailed
from workers.engine.json_text import to_json
from workers.engine.providers.addresses import AddressPolicy, check_url
from workers.engine.providers.answers import clean_text
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Post, PostingScorer, quote

FORM = '{"value": 0.5, "reason": "why", "label": "a word"}'


class Said(BaseModel):
    """What the service must answer, and nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)

    value: float | None = Field(ge=0, le=1, allow_inf_nan=False)
    reason: str = ""
    label: str = ""


class Webhook(PostingScorer):
    name: ClassVar[str] = "webhook"
    summary: ClassVar[str] = (
        "A service of yours judges the answer: it is sent answer and case, and replies a value."
    )
    needs_expected: ClassVar[bool] = False  # it is sent where there is one

    url: str = Field(
        min_length=1,
        max_length=2_000,
        title="URL",
        description="A public address that takes {answer, expected, case} as JSON by POST and "
        f"replies {FORM}; a value of null is not scored. Everybody who sees the configuration "
        "sees it.",
    )
    seconds: float = Field(
        default=10, gt=0, le=60, description="How long it may take for one answer."
    )
    threshold: float = Field(
        default=0.5, ge=0, le=1, description="The lowest value with which an answer is right."
    )

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        """Whether a private one is allowed is known only where it is called."""
        try:
            check_url(url, AddressPolicy())
        except PrivateAddress:
            pass
        except ForbiddenAddress as error:
            raise ValueError(str(error)) from None
        return url

    @property
    def posts_to(self) -> str:
        return self.url

    async def judge_by_posting(self, answer: str, case: Case, post: Post) -> Judgement:
        fields = {name: clean_text(text) for name, text in case.fields.items()}
        expected = fields.get(case.expected_column)
        sent = {"answer": clean_text(answer), "expected": expected, "case": fields}
        reply = await post(self.url, to_json(sent), self.seconds)
        said = self._read(reply)
        if said.value is None:
            return self.not_scored(said.reason or "the service gave no value")
        return self.graded(float(said.value), said.reason, said.label)

    def _read(self, reply: bytes) -> Said:
        try:
            return Said.model_validate_json(reply)
        except ValidationError:
            told = quote(reply.decode("utf-8", "replace"))
            raise ScorerFailed(
                f"The service of the scorer {self.own_name} replied {told}. Allowed is JSON as in "
                f"{FORM}, where value is a number from 0 to 1, or null."
            ) from None
