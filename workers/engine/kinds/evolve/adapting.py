"""Rates that follow the population: more change where all are alike or nothing gets better."""

from collections.abc import Sequence
from typing import NamedTuple

AFTER = 5  # generations, before and between which nothing can be said
LEAST_GAIN = 0.001  # over them


class Rates(NamedTuple):
    crossover: float
    mutation: float


def adapt(rates: Rates, diversity: float, best: Sequence[float]) -> Rates:
    """For the next generation, by the diversity of this one and the best of all so far."""
    if len(best) <= AFTER:
        return rates
    crossover, mutation = rates
    if diversity < 0.1:
        mutation = min(0.5, mutation * 1.1)
    elif diversity > 0.8:
        mutation = max(0.05, mutation * 0.9)
    if best[-1] - best[-1 - AFTER] < LEAST_GAIN:
        return Rates(max(0.5, crossover * 0.95), max(mutation, min(0.4, mutation * 1.05)))
    return Rates(min(max(0.9, crossover), crossover * 1.02), mutation)
