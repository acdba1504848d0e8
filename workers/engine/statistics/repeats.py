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
    enough = [case for case in cases if case.tries >= k]
    if not enough:
        return None
    n = len(enough)
    return RepeatFigures(
        k=k,
        cases=n,
        mean=math.fsum(case.mean for case in enough) / n,
        majority=sum(case.by_majority for case in enough) / n,
        pass_at_k=math.fsum(pass_at_k(case.tries, case.passed, k) for case in enough) / n,
        pass_hat_k=math.fsum(pass_hat_k(case.tries, case.passed, k) for case in enough) / n,
    )
