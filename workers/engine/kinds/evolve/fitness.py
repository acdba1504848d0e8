"""How fit a prompt is: mostly how often it is right, and a little how its answers read.

Calls that failed are no wrong answers: they are left out, and a genome of whose trials fewer than
half were judged has no fitness at all.
"""

import math
from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

SHORT_ANSWER = 150  # characters up to which an answer is as efficient as can be
FREE_WORDS = 30  # of a prompt, before its length counts against it
RIGHT_SPREAD = 0.3  # of the lengths of right answers: neither all alike nor wild


class Weights(BaseModel):
    """What counts for how much."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    accuracy: float = Field(0.7, ge=0, le=1, description="The mean score.")
    consistency: float = Field(0.15, ge=0, le=1, description="Answers of equal length, no gaps.")
    efficiency: float = Field(0.1, ge=0, le=1, description="Right answers that are short.")
    diversity: float = Field(0.05, ge=0, le=1, description="Right answers that vary a little.")
    length_penalty: float = Field(
        0.01, ge=0, le=1, description="Lost for every word of the prompt beyond the thirtieth."
    )

    @classmethod
    def of_score_alone(cls) -> "Weights":
        """For prompts that a model writes: they are long, and say what their answers look like."""
        return cls(accuracy=1.0, consistency=0.0, efficiency=0.0, diversity=0.0, length_penalty=0.0)


class Sample(NamedTuple):
    """What became of one trial. No value: it failed."""

    value: float | None
    is_right: bool
    length: int  # characters of the answer


class Fitness(NamedTuple):
    total: float
    accuracy: float
    consistency: float
    efficiency: float
    diversity: float
    penalty: float


def fitness_of(samples: Sequence[Sample], words: int, weights: Weights) -> Fitness | None:
    judged = [sample for sample in samples if sample.value is not None]
    if not judged or 2 * len(judged) < len(samples):
        return None
    accuracy = fmean(sample.value or 0.0 for sample in judged)
    right = [sample.length for sample in judged if sample.is_right]
    parts = (
        accuracy,
        consistency([sample.length for sample in judged]),
        efficiency(right),
        diversity_bonus(right),
    )
    penalty = min(0.5, weights.length_penalty * max(0, words - FREE_WORDS))
    counted = (weights.accuracy, weights.consistency, weights.efficiency, weights.diversity)
    total = math.fsum(part * weight for part, weight in zip(parts, counted, strict=True)) - penalty
    return Fitness(max(0.0, total), *parts, penalty)


def consistency(lengths: Sequence[int]) -> float:
    """Of the answers that came: 0.7 for lengths that are alike, 0.3 for having said anything."""
    said = sum(length > 0 for length in lengths) / len(lengths)
    return 0.7 * max(0.0, 1.0 - spread(lengths)) + 0.3 * said


def efficiency(right: Sequence[int]) -> float:
    """Nothing without a right answer: a short wrong one saves nobody anything."""
    if not right:
        return 0.0
    mean = fmean(right)
    return 1.0 if mean <= SHORT_ANSWER else max(0.1, 1.0 - (mean - SHORT_ANSWER) / 1000)


def diversity_bonus(right: Sequence[int]) -> float:
    if len(right) < 2:
        return 0.0
    return min(1.0, max(0.0, 1.0 - abs(spread(right) - RIGHT_SPREAD) / RIGHT_SPREAD))


def spread(lengths: Sequence[int]) -> float:
    """The coefficient of variation."""
    mean = fmean(lengths)
    return pstdev(lengths) / mean if mean else 0.0
