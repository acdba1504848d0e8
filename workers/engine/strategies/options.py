"""What every strategy that chooses among candidates may be told, and how its failures count."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Failures = Literal["wrong", "dropped"]


class Options(BaseModel):
    """Options shared by all. A strategy's own are fields of its subclass."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    confidence: float = Field(
        default=1.0, gt=0, le=10, description="Half an interval's width, in standard errors."
    )
    batch: int | None = Field(
        default=None, ge=1, description="Cases, or candidates, of a round. Empty: by the strategy."
    )
    budget: int | None = Field(
        default=None, ge=1, description="Evaluations at most. Empty: as many as it takes."
    )
    failures: Failures = Field(
        default="wrong",
        description="wrong: a failed trial counts as a wrong answer. dropped: it is left out.",
    )


class Objective(BaseModel):
    """What is best: quality, less so many times the price and the latency, each from 0 to 1."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    lambda_cost: float = Field(default=0.0, ge=0)
    lambda_latency: float = Field(default=0.0, ge=0)

    @property
    def is_quality_alone(self) -> bool:
        return self.lambda_cost == self.lambda_latency == 0.0
