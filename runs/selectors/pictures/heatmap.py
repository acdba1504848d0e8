"""Candidates and cases as a grid of scores: the best candidate on top, the easiest case first.

At most 200 rows and columns are drawn. Of more candidates an even sample by rank is shown; more
cases are put together into columns of similar difficulty. The caption says so.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from runs import formatting
from runs.models import Candidate
from runs.selectors.scores.by_case import CaseTally

MOST_DRAWN = 200  # rows, and columns
CASES_NAMED = 20  # of one column: its link opens these
THOUSAND = 1000  # values are sent in thousandths: what a page shows of a score

Group = Sequence[int | None]  # cases of one column; None: one that nobody has tried yet


@dataclass
class Cells:
    """The cells of one row, by column."""

    n: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    total: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    failures: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, column: int, tally: CaseTally) -> None:
        if tally.n:
            self.n[column] += tally.n
            self.total[column] += tally.total
        if tally.failures:
            self.failures[column] += tally.failures

    def value(self, column: int) -> int | None:
        n = self.n.get(column)
        return round(THOUSAND * self.total[column] / n) if n else None


@dataclass(frozen=True)
class Heatmap:
    candidates: Sequence[Candidate]
    groups: Sequence[Group]
    cells: Mapping[int, Cells]  # by the candidate's primary key
    caption: str

    @property
    def cases_named(self) -> set[int]:
        named = (case for group in self.groups for case in group[:CASES_NAMED])
        return {case for case in named if case is not None}

    @property
    def cases_alone(self) -> set[int]:
        """Those with a column of their own."""
        alone = (group[0] for group in self.groups if len(group) == 1)
        return {case for case in alone if case is not None}

    def as_record(self, positions: Mapping[int, int], questions: Mapping[int, str]) -> Any:
        """For the script that draws it, with the cases' rows in the dataset and what they ask."""
        columns = [column_record(group, positions, questions) for group in self.groups]
        rows = [self.row_record(candidate) for candidate in self.candidates]
        return {"rows": rows, "columns": columns, "caption": self.caption}

    def row_record(self, candidate: Candidate) -> dict[str, Any]:
        cells, columns = self.cells[candidate.pk], range(len(self.groups))
        row: dict[str, Any] = {
            "candidate": candidate.position,
            "name": candidate.name,
            "values": [cells.value(column) for column in columns],
            "failed": sorted(cells.failures.items()),
        }
        if any(n > 1 for n in cells.n.values()):
            row["tries"] = [cells.n.get(column, 0) for column in columns]
        return row


def column_record(
    group: Group, positions: Mapping[int, int], questions: Mapping[int, str]
) -> dict[str, Any]:
    known = [case for case in group[:CASES_NAMED] if case is not None]
    record: dict[str, Any] = {"size": len(group), "cases": [positions[case] for case in known]}
    if len(group) == 1 and known and known[0] in questions:
        record["question"] = questions[known[0]]
    return record


def draw_heatmap(
    ranked: Sequence[Candidate],
    tallies: Sequence[CaseTally],
    planned_cases: int,
    held_out: int = 0,
) -> Heatmap:
    """`ranked`: the best first. Cases that nobody has tried yet are the last columns; those that
    are held out, of which nobody is ranked, are none."""
    tried = by_difficulty(tallies)
    cases: list[int | None] = [*tried, *[None] * (planned_cases - held_out - len(tried))]
    groups = split_evenly(cases, MOST_DRAWN)
    column_of = {case: place for place, group in enumerate(groups) for case in group}
    drawn = sample_evenly(ranked, MOST_DRAWN)
    cells = {candidate.pk: Cells() for candidate in drawn}
    for tally in tallies:
        if tally.candidate_id in cells:
            cells[tally.candidate_id].add(column_of[tally.case_id], tally)
    caption = caption_of(len(ranked), len(drawn), len(cases), groups)
    if held_out:
        caption += f" {formatting.counted(held_out, 'case')} held out: not drawn."
    return Heatmap(drawn, groups, cells, caption)


def by_difficulty(tallies: Sequence[CaseTally]) -> list[int]:
    """Cases, the easiest first; last those of which every trial failed."""
    n: dict[int, int] = defaultdict(int)
    total: dict[int, float] = defaultdict(float)
    for tally in tallies:
        n[tally.case_id] += tally.n
        total[tally.case_id] += tally.total
    return sorted(n, key=lambda case: (not n[case], -total[case] / (n[case] or 1), case))


def split_evenly(cases: Sequence[int | None], most: int) -> list[Group]:
    """Neighbours together, in at most so many groups whose sizes differ by one at most."""
    groups = min(len(cases), most)
    edges = [place * len(cases) // groups for place in range(groups + 1)] if groups else []
    return [cases[start:end] for start, end in pairwise(edges)]


def sample_evenly(ranked: Sequence[Candidate], most: int) -> list[Candidate]:
    """With the first and the last one."""
    if len(ranked) <= most:
        return list(ranked)
    return [ranked[place * (len(ranked) - 1) // (most - 1)] for place in range(most)]


def caption_of(candidates: int, drawn: int, cases: int, groups: Sequence[Group]) -> str:
    told = (
        f"{formatting.counted(candidates, 'candidate')}, the best on top; "
        f"{formatting.counted(cases, 'case')}, the easiest on the left."
    )
    if drawn < candidates:
        told += f" {drawn} candidates are drawn, evenly from best to worst."
    if len(groups) < cases:
        size = " or ".join(f"{size:,}" for size in sorted({len(group) for group in groups}))
        told += f" Each of {len(groups)} columns is the mean of {size} cases of similar difficulty."
    return told
