"""Compares two runs trial by trial: the same case and repeat, by the candidates that match."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workers.engine.statistics.paired import CLOSE, Difference, estimate_difference


class Result(NamedTuple):
    """What a comparison needs of a score. `case` is equal where the case is the same."""

    candidate: str
    case: str | int
    repeat: int
    value: float | None  # None: the trial failed
    passed: bool | None
    position: int


class Pair(NamedTuple):
    """The same trial in two runs, scored in both."""

    before: Result
    after: Result

    @property
    def change(self) -> float:
        return (self.after.value or 0.0) - (self.before.value or 0.0)

    @property
    def is_regression(self) -> bool:
        return bool(self.before.passed and not self.after.passed)

    @property
    def is_improvement(self) -> bool:
        return bool(self.after.passed and not self.before.passed)


class CandidatePair(NamedTuple):
    """Keys of the candidates that are compared."""

    before: str
    after: str


@dataclass(frozen=True)
class Comparison:
    """`changed` holds the largest fall first."""

    overall: Difference | None
    by_candidate: Mapping[CandidatePair, Difference | None]
    changed: Sequence[Pair]
    pairs: int
    regressions: int
    improvements: int
    failed_before: int  # trials that have no value in the one run, but in the other
    failed_after: int
    unmatched: int  # trials of which the other run has no counterpart


def match_candidates(before: Mapping[str, str], after: Mapping[str, str]) -> list[CandidatePair]:
    """By key, which is the same for the same prompt and model; else by a name that is unique on
    both sides, as when a prompt was edited; and a lone one with a lone one."""
    pairs = [CandidatePair(key, key) for key in before if key in after]
    left = {key: name for key, name in before.items() if key not in after}
    right = {key: name for key, name in after.items() if key not in before}
    by_name = {name: key for key, name in right.items() if is_unique(name, right)}
    for key, name in left.items():
        if is_unique(name, left) and name in by_name:
            pairs.append(CandidatePair(key, by_name[name]))
    if not pairs and len(left) == len(right) == 1:
        pairs.append(CandidatePair(next(iter(left)), next(iter(right))))
    return pairs


def is_unique(name: str, names: Mapping[str, str]) -> bool:
    return Counter(names.values())[name] == 1


def compare(
    before: Iterable[Result], after: Iterable[Result], candidates: Sequence[CandidatePair]
) -> Comparison:
    old, new = index(before), index(after)
    twins = {pair.before: pair.after for pair in candidates}
    matched = [
        Pair(result, new[twins[key[0]], key[1], key[2]])
        for key, result in old.items()
        if key[0] in twins and (twins[key[0]], key[1], key[2]) in new
    ]
    scored = [p for p in matched if p.before.value is not None and p.after.value is not None]
    of_candidate: dict[str, list[Pair]] = defaultdict(list)
    for pair in scored:
        of_candidate[pair.before.candidate].append(pair)
    changed = [p for p in scored if abs(p.change) > CLOSE or p.before.passed != p.after.passed]
    changed.sort(key=lambda pair: (pair.change, not pair.is_regression, pair.before.position))
    return Comparison(
        overall=difference_of(scored),
        by_candidate={c: difference_of(of_candidate[c.before]) for c in candidates},
        changed=changed,
        pairs=len(scored),
        regressions=sum(pair.is_regression for pair in scored),
        improvements=sum(pair.is_improvement for pair in scored),
        failed_before=sum(p.before.value is None and p.after.value is not None for p in matched),
        failed_after=sum(p.after.value is None and p.before.value is not None for p in matched),
        unmatched=len(old) + len(new) - 2 * len(matched),
    )


def index(results: Iterable[Result]) -> dict[tuple[str, str | int, int], Result]:
    return {(r.candidate, r.case, r.repeat): r for r in results}


def difference_of(pairs: Iterable[Pair]) -> Difference | None:
    by_case: dict[str | int, list[float]] = defaultdict(list)
    for pair in pairs:
        by_case[pair.before.case].append(pair.change)
    return estimate_difference([sum(each) / len(each) for each in by_case.values()])
