"""Compares two runs over the same cases, by the candidates that match."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workers.engine.statistics.columns import (
    CASES,
    REPEATS,
    Cells,
    Columns,
    Numbers,
    cell_keys,
    fold,
    mean_by,
)
from workers.engine.statistics.paired import CLOSE, Difference, estimate_difference


class CandidatePair(NamedTuple):
    """Keys of the candidates that are compared."""

    before: str
    after: str


class PlacePair(NamedTuple):
    """Places of the candidates that are compared, each in its own run."""

    before: int
    after: int


@dataclass(frozen=True)
class Comparison:
    """Differences are of cases, repeats folded; `pairs` to `unmatched` count single trials.
    `changed_before` and `changed_after` are rows of the two runs, the largest fall first."""

    overall: Difference | None
    by_candidate: Sequence[Difference | None]
    cells_before: Cells  # of the candidates that match
    cells_after: Cells
    changed_before: Numbers
    changed_after: Numbers
    fallen: int  # of those that changed: scored lower
    pairs: int
    regressions: int
    lost: int  # passed before, and failed now without a value
    improvements: int
    failed_before: int  # trials that have no value in the one run, but in the other
    failed_after: int
    unmatched: int  # trials of which the other run has no counterpart


class SharedCells(NamedTuple):
    """Rows of the same cells in two runs."""

    before: Numbers
    after: Numbers


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


def compare(before: Columns, after: Columns, candidates: Sequence[PlacePair]) -> Comparison:
    import numpy

    groups_before = groups_of(before, {pair.before: pair.before for pair in candidates})
    groups_after = groups_of(after, {pair.after: pair.before for pair in candidates})
    is_paired_before = groups_before[before.candidate] >= 0
    is_paired_after = groups_after[after.candidate] >= 0
    cells_before = fold(before.only(is_paired_before), groups_before)
    cells_after = fold(after.only(is_paired_after), groups_after)
    places = (numpy.flatnonzero(is_paired_before), numpy.flatnonzero(is_paired_after))
    old_keys = trial_keys(before, groups_before)[places[0]]
    new_keys = trial_keys(after, groups_after)[places[1]]
    _, of_old, of_new = numpy.intersect1d(
        old_keys, new_keys, assume_unique=True, return_indices=True
    )
    rows = (places[0][of_old], places[1][of_new])
    scored = before.is_scored[rows[0]] & after.is_scored[rows[1]]
    old, new = before.only(rows[0][scored]), after.only(rows[1][scored])
    is_lost = before.is_scored[rows[0]] & ~after.is_scored[rows[1]]
    is_regression = (old.passed == 1) & (new.passed != 1)
    is_improvement = (new.passed == 1) & (old.passed != 1)
    change = new.value - old.value
    has_changed = (numpy.abs(change) > CLOSE) | is_regression | is_improvement
    changed = numpy.flatnonzero(has_changed)
    order = (old.position[changed], ~is_regression[changed], change[changed])
    changed = changed[numpy.lexsort(order)]
    shared = shared_cells(cells_before, cells_after)
    change_of_cells = cells_after.value[shared.after] - cells_before.value[shared.before]
    keys = cells_before.key[shared.before]
    overall = difference_of(keys, change_of_cells)
    return Comparison(
        overall=overall,
        by_candidate=[overall]
        if len(candidates) == 1
        else [
            difference_of(keys[of_pair], change_of_cells[of_pair])
            for of_pair in (keys // CASES == pair.before for pair in candidates)
        ],
        cells_before=cells_before,
        cells_after=cells_after,
        changed_before=rows[0][scored][changed],
        changed_after=rows[1][scored][changed],
        fallen=int((change[changed] < -CLOSE).sum()),
        pairs=int(scored.sum()),
        regressions=int(is_regression.sum()),
        lost=int((is_lost & (before.passed[rows[0]] == 1)).sum()),
        improvements=int(is_improvement.sum()),
        failed_before=int((~before.is_scored[rows[0]] & after.is_scored[rows[1]]).sum()),
        failed_after=int(is_lost.sum()),
        unmatched=len(before.case) + len(after.case) - 2 * len(rows[0]),
    )


def groups_of(trials: Columns, groups: Mapping[int, int]) -> Numbers:
    """By a candidate's place, its group; -1: it is compared with nothing."""
    import numpy

    places = 1 + max([*groups, int(trials.candidate.max(initial=-1))])
    found = numpy.full(places, -1, dtype=numpy.int64)
    for place, group in groups.items():
        found[place] = group
    return found


def trial_keys(trials: Columns, groups: Numbers) -> Numbers:
    return cell_keys(trials, groups) * REPEATS + trials.repeat


def shared_cells(before: Cells, after: Cells) -> SharedCells:
    import numpy

    _, old, new = numpy.intersect1d(before.key, after.key, assume_unique=True, return_indices=True)
    return SharedCells(old, new)


def difference_of(keys: Numbers, changes: Numbers) -> Difference | None:
    """Over cases: candidates that answered the same case count as one. nan is left out."""
    import numpy

    known = ~numpy.isnan(changes)
    by_case = mean_by(keys[known] % CASES, changes[known])
    return estimate_difference(by_case.tolist())
