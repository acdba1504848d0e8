"""Cases that tell no candidates apart: those that nobody, and those that everybody solves."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from runs.selectors.scores.by_case import CaseTally


class Solved(NamedTuple):
    """Primary keys of cases, in the order of the dataset."""

    by_nobody: list[int]
    by_everybody: list[int]


def find_solved(candidates: int, tallies: Sequence[CaseTally]) -> Solved:
    """Of the cases on which every candidate has a score: what failed or is still to come may be
    solved yet."""
    scored: dict[int, int] = defaultdict(int)  # candidates with a score
    passes: dict[int, int] = defaultdict(int)
    done: dict[int, int] = defaultdict(int)
    for tally in tallies:
        scored[tally.case_id] += tally.n > 0
        passes[tally.case_id] += tally.passes
        done[tally.case_id] += tally.done
    seen_by_all = sorted(case for case, count in scored.items() if count == candidates)
    return Solved(
        by_nobody=[case for case in seen_by_all if not passes[case]],
        by_everybody=[case for case in seen_by_all if passes[case] == done[case]],
    )
