"""What every strategy that chooses among candidates may be told, and how its failures count."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

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
    """What is best. weighted: quality, less so many times the price and the latency, each put
    between 0 and 1 by the least and the most seen. pareto: whoever nobody beats in quality, latency
    and price at once; nobody is given up for another that is slower or dearer."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    mode: Literal["weighted", "pareto"] = "weighted"
    lambda_cost: float = Field(default=0.0, ge=0)
    lambda_latency: float = Field(default=0.0, ge=0)

    @model_validator(mode="after")
    def check_weights(self) -> "Objective":
        if self.is_pareto and (self.lambda_cost or self.lambda_latency):
            raise ValueError(
                "The mode pareto weighs nothing against anything. Leave lambda_cost and "
                "lambda_latency out, or use the mode weighted."
            )
        return self

    @property
    def is_pareto(self) -> bool:
        return self.mode == "pareto"

    @property
    def is_quality_alone(self) -> bool:
        """Whether a sample is worth its quality, whatever it cost."""
        return self.lambda_cost == self.lambda_latency == 0.0
