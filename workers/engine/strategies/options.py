"""What every strategy that chooses among candidates may be told, and how its failures count."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Failures = Literal["wrong", "dropped"]


class Options(BaseModel):
    """Options shared by all. A strategy's own are fields of its subclass."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    confidence: float = Field(
        default=1.0,
        gt=0,
        le=10,
        title="Confidence, standard errors",
        description="How far the true score may be from the measured one. Greater: fewer wrong "
        "decisions, more evaluations.",
    )
    batch: int | None = Field(
        default=None,
        ge=1,
        title="Round size",
        description="Cases between two decisions; combinations, where each is tried on all cases. "
        "Empty: the strategy decides.",
    )
    budget: int | None = Field(
        default=None,
        ge=1,
        title="Evaluations at most",
        description="The search ends there. Empty: as many as it takes.",
    )
    failures: Failures = Field(
        default="wrong",
        title="Failed trials",
        description="Whether a failed trial counts as a wrong answer (wrong) or is left out "
        "(dropped).",
    )


class Objective(BaseModel):
    """What is best. weighted: quality minus lambda_cost times the price and lambda_latency times
    the latency, both scaled to 0 to 1 by the least and the most seen. pareto: every combination
    that no other one beats in quality, latency and price at once."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    mode: Literal["weighted", "pareto"] = Field(
        default="weighted",
        title="Looking for",
        description="One winner, by its score less the weighted price and latency (weighted), or "
        "every combination that no other beats in score, price and latency at once (pareto).",
    )
    lambda_cost: float = Field(
        default=0.0,
        ge=0,
        title="Weight of cost",
        description="0: the price does not count. 0.5: the dearest combination loses 0.5 of its "
        "score against the cheapest.",
    )
    lambda_latency: float = Field(
        default=0.0,
        ge=0,
        title="Weight of latency",
        description="0: speed does not count. 0.5: the slowest combination loses 0.5 of its score "
        "against the fastest.",
    )

    @model_validator(mode="after")
    def check_weights(self) -> "Objective":
        if self.is_pareto and (self.lambda_cost or self.lambda_latency):
            raise ValueError(
                "The mode pareto uses no weights. Leave lambda_cost and lambda_latency at 0, "
                "or use the mode weighted."
            )
        return self

    @property
    def is_pareto(self) -> bool:
        return self.mode == "pareto"

    @property
    def is_quality_alone(self) -> bool:
        """Whether a sample is worth its quality, whatever it cost."""
        return self.lambda_cost == self.lambda_latency == 0.0
