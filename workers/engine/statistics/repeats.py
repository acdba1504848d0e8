"""What several tries at one case come to: mean, majority, at least one of k, all of k."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Folded(NamedTuple):
    """The tries at one case that were judged. `passed` counts the right ones."""

    tries: int
    passed: int
    mean: float

    @property
    def by_majority(self) -> bool:
        """More right than wrong; half is no majority."""
        return 2 * self.passed > self.tries


def fold(scores: Iterable[tuple[float | None, bool | None]]) -> Folded | None:
    """Value and verdict of each try; one that failed is no try. None: all failed."""
    judged = [(value, bool(passed)) for value, passed in scores if value is not None]
    if not judged:
        return None
    mean = math.fsum(value for value, _ in judged) / len(judged)
    return Folded(len(judged), sum(passed for _, passed in judged), mean)


def pass_at_k(tries: int, passed: int, k: int) -> float:
    """How likely one of k tries is right, without bias from the tries that there were."""
    return 1.0 - math.comb(tries - passed, k) / math.comb(tries, k)


def pass_hat_k(tries: int, passed: int, k: int) -> float:
    """How likely all of k tries are right (pass^k)."""
    return math.comb(passed, k) / math.comb(tries, k)


class Alike(NamedTuple):
    """Cases with equally many tries, of which equally many are right: a few groups stand for
    thousands of cases."""

    tries: int
    passed: int
    cases: int
    mean_total: float  # the sum of the cases' means


def count_alike(cases: Iterable[tuple[int, int, float]]) -> list[Alike]:
    """Of tries, right ones and mean of each case."""
    numbers: dict[tuple[int, int], int] = {}
    totals: dict[tuple[int, int], float] = {}
    for tries, passed, mean in cases:
        key = (tries, passed)
        numbers[key] = numbers.get(key, 0) + 1
        totals[key] = totals.get(key, 0.0) + mean
    return [Alike(*key, numbers[key], totals[key]) for key in sorted(numbers)]


class RepeatFigures(NamedTuple):
    """Means over the cases that have k tries or more."""

    k: int
    cases: int
    mean: float
    majority: float
    pass_at_k: float
    pass_hat_k: float


def figures_at(k: int, cases: Sequence[Folded]) -> RepeatFigures | None:
    """None: no case has so many tries."""
    return figures_of_groups(k, count_alike(cases))


def figures_of_groups(k: int, groups: Iterable[Alike]) -> RepeatFigures | None:
    enough = [group for group in groups if group.tries >= k]
    n = sum(group.cases for group in enough)
    if not n:
        return None
    right = sum(group.cases for group in enough if 2 * group.passed > group.tries)
    return RepeatFigures(
        k=k,
        cases=n,
        mean=math.fsum(group.mean_total for group in enough) / n,
        majority=right / n,
        pass_at_k=math.fsum(g.cases * pass_at_k(g.tries, g.passed, k) for g in enough) / n,
        pass_hat_k=math.fsum(g.cases * pass_hat_k(g.tries, g.passed, k) for g in enough) / n,
    )
