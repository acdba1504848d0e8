"""The table of cases: one row for a case of a candidate, a column for each side, repeats folded.
The largest regression stands first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from runs.models.dataset import question_in
from runs.selectors.comparing.comparison import RunComparison
from runs.selectors.comparing.sides import Side
from workers.engine.statistics.columns import CASES, Cells, Numbers, cell_keys
from workers.engine.statistics.comparing import groups_of
from workers.engine.statistics.paired import CLOSE

PAGE_SIZE = 50
PAGE_SIZE_OF_MANY = 25  # of more than four sides: a page stays small
MOST_REPEATS = 5  # of a case, whose answers are shown
ALL = "all"
FILTERS = {
    ALL: "All",
    "regressed": "Regressed",
    "improved": "Improved",
    "different": "Different",
    "errored": "Errored in either",
    "missing": "Missing",
}


class Cell(NamedTuple):
    """What became of a case in one side. `change` and `word` are against the base."""

    value: float | None
    passed: float | None
    trials: int
    failed: int
    change: float | None
    word: str

    @property
    def passes(self) -> int:
        return round((self.passed or 0.0) * (self.trials - self.failed))


class CaseRow(NamedTuple):
    candidate: str
    case: int  # its position in the first side that has it
    question: str
    cells: list[Cell | None]  # None: this side has no such trial
    comparable: list[bool]  # whether each side has such a candidate
    trials: list[list[str]]  # of each side, as 118-17 is trial 17 of run 118
    labels: list[str]  # of the sides

    @property
    def cells_of(self) -> list[tuple[Cell | None, str, bool]]:
        return list(zip(self.cells, self.labels, self.comparable, strict=True))

    @property
    def query(self) -> str:
        """Of the address that has the answers."""
        return "&".join(f"of={','.join(side)}" for side in self.trials)


class CasePage(NamedTuple):
    rows: list[CaseRow]
    show: str
    counts: dict[str, int]
    page: int
    pages: int

    @property
    def total(self) -> int:
        return self.counts[self.show]


@dataclass(frozen=True)
class Column:
    """One side: which cell of it stands in each row of the grid; -1: none."""

    given: Side
    common: Side
    groups: Numbers
    cells: Cells
    place: Numbers

    def values(self, values: Numbers) -> Numbers:
        """In the rows of the grid; nan where this side has no cell."""
        import numpy

        padded = numpy.append(values.astype(float), numpy.nan)
        found: Numbers = padded[self.place]
        return found


@dataclass(frozen=True)
class Grid:
    key: Numbers
    columns: list[Column]  # the base first
    has: dict[str, Numbers]  # by filter, which rows it shows
    order: Numbers  # all rows, the largest regression first

    def rows_of(self, show: str) -> Numbers:
        rows: Numbers = self.order[self.has[show][self.order]]
        return rows[::-1] if show == "improved" else rows


def make_grid(compared: Sequence[RunComparison]) -> Grid:
    import numpy

    base = merged([one.found.cells_before for one in compared])
    others = [one.found.cells_after for one in compared]
    keys = numpy.unique(numpy.concatenate([base.key, *(cells.key for cells in others)]))
    first = compared[0]
    places = {pair.before for one in compared for pair in one.pairs_of_places}
    base_groups = groups_of(first.base_common.trials, {place: place for place in places})
    columns = [Column(first.base_side, first.base_common, base_groups, base, place_of(base, keys))]
    for one, cells in zip(compared, others, strict=True):
        pairs = {pair.after: pair.before for pair in one.pairs_of_places}
        groups = groups_of(one.other_common.trials, pairs)
        place = place_of(cells, keys)
        columns.append(Column(one.other_side, one.other_common, groups, cells, place))
    return Grid(keys, columns, filters_of(columns, keys), order_of(columns, keys))


def merged(parts: Sequence[Cells]) -> Cells:
    """Of the same side, which matched other candidates each time."""
    import numpy

    together = Cells(*(numpy.concatenate(columns) for columns in zip(*parts, strict=True)))
    _, first = numpy.unique(together.key, return_index=True)
    return Cells(*(column[first] for column in together))


def place_of(cells: Cells, keys: Numbers) -> Numbers:
    import numpy

    if not len(cells.key):
        return numpy.full(len(keys), -1)
    near = numpy.minimum(numpy.searchsorted(cells.key, keys), len(cells.key) - 1)
    return numpy.where(cells.key[near] == keys, near, -1)


def level_changes(base: Column, other: Column) -> Numbers:
    """How much less or more often it passes; of scorers that pass nothing, how much its score
    fell or rose."""
    import numpy

    passed = other.values(other.cells.passed) - base.values(base.cells.passed)
    by_value = value_changes(base, other)
    found: Numbers = numpy.where(numpy.isnan(passed), by_value, passed)
    return found


def value_changes(base: Column, other: Column) -> Numbers:
    return other.values(other.cells.value) - base.values(base.cells.value)


def filters_of(columns: Sequence[Column], keys: Numbers) -> dict[str, Numbers]:
    import numpy

    base, *others = columns
    has = {name: numpy.full(len(keys), name == ALL) for name in FILTERS}
    failed_before = base.values(base.cells.failed_share) > 0
    for other in others:
        level = level_changes(base, other)
        has_candidate = numpy.isin(keys // CASES, other.groups[other.groups >= 0])
        is_missing = ((base.place < 0) | (other.place < 0)) & has_candidate
        failed = failed_before | (other.values(other.cells.failed_share) > 0)
        has["regressed"] |= level < -CLOSE
        has["improved"] |= level > CLOSE
        has["different"] |= (numpy.abs(value_changes(base, other)) > CLOSE) | (
            numpy.abs(level) > CLOSE
        )
        has["errored"] |= failed & (base.place >= 0) & (other.place >= 0)
        has["missing"] |= is_missing
    return has


def order_of(columns: Sequence[Column], keys: Numbers) -> Numbers:
    """By the largest fall in any side; what cannot be compared stands in the middle."""
    import numpy

    base, *others = columns
    levels = numpy.nan_to_num(numpy.array([level_changes(base, other) for other in others]))
    values = numpy.nan_to_num(numpy.array([value_changes(base, other) for other in others]))
    return numpy.lexsort((keys, worst(values), worst(levels)))


def worst(changes: Numbers) -> Numbers:
    """The lowest of each row; where nothing fell, the highest."""
    import numpy

    low = changes.min(axis=0)
    found: Numbers = numpy.where(low < 0, low, changes.max(axis=0))
    return found


def read_page(grid: Grid, show: str, page: int) -> CasePage:
    import numpy

    rows = grid.rows_of(show)
    size = PAGE_SIZE if len(grid.columns) <= 4 else PAGE_SIZE_OF_MANY
    pages = max(1, -(-len(rows) // size))
    page = min(max(page, 1), pages)
    shown = rows[(page - 1) * size : page * size]
    counts = {name: int(numpy.count_nonzero(has)) for name, has in grid.has.items()}
    return CasePage(describe(grid, shown), show, counts, page, pages)


def describe(grid: Grid, shown: Numbers) -> list[CaseRow]:
    trials = [trials_of(column, grid.key[shown]) for column in grid.columns]
    positions = case_positions(grid, trials)
    names = list(grid.columns[0].given.candidates.values())
    sides = list(zip(grid.columns, trials, strict=True))
    labels = [column.given.label for column in grid.columns]
    described = []
    for row in shown.tolist():
        key = int(grid.key[row])
        case, question = positions[key]
        described.append(
            CaseRow(
                candidate=names[key // CASES],
                case=case,
                question=question,
                cells=[cell_of(grid, number, row) for number in range(len(grid.columns))],
                trials=[labels_of(c, own.get(key, [])) for c, own in sides],
                labels=labels,
                comparable=[bool((column.groups == key // CASES).any()) for column in grid.columns],
            )
        )
    return described


def trials_of(column: Column, keys: Numbers) -> dict[int, list[int]]:
    """By key, the rows of its trials in their side, by repeat."""
    import numpy

    trials = column.common.trials
    paired = numpy.flatnonzero(column.groups[trials.candidate] >= 0)
    own = cell_keys(trials, column.groups)[paired]
    wanted = numpy.isin(own, keys)
    rows = paired[wanted]
    found: dict[int, list[int]] = {}
    for key, row in sorted(
        zip(own[wanted].tolist(), rows.tolist(), strict=True),
        key=lambda pair: int(trials.repeat[pair[1]]),
    ):
        found.setdefault(key, []).append(row)
    return found


def picked_cases(grid: Grid, show: str) -> list[tuple[Side, list[int]]]:
    """Positions of the cases that a filter shows, each with the first side that has it."""
    import numpy

    wanted = numpy.unique(grid.key[grid.has[show]] % CASES)
    found: list[tuple[Side, list[int]]] = []
    for column in grid.columns:
        cases = column.common.trials.case
        is_wanted = (column.groups[column.common.trials.candidate] >= 0) & numpy.isin(cases, wanted)
        own, first = numpy.unique(cases[is_wanted], return_index=True)
        found.append((column.given, column.given.trials.case[is_wanted][first].tolist()))
        wanted = numpy.setdiff1d(wanted, own, assume_unique=True)
    return found


def labels_of(column: Column, rows: Sequence[int]) -> list[str]:
    positions = column.given.trials.position
    return [f"{column.given.run_id}-{int(positions[row])}" for row in rows[:MOST_REPEATS]]


def case_positions(
    grid: Grid, trials: Sequence[dict[int, list[int]]]
) -> dict[int, tuple[int, str]]:
    """By key, the position of its case and its question, from the first side that has it."""
    found: dict[int, tuple[int, str]] = {}
    for column, own in zip(grid.columns, trials, strict=True):
        cases = column.given.trials.case
        new = {key: int(cases[rows[0]]) for key, rows in own.items() if key not in found}
        fields = column.given.cases.fields_at(list(new.values())) if new else {}
        found |= {key: (case, question_in(fields.get(case, {}))) for key, case in new.items()}
    return found


def cell_of(grid: Grid, number: int, row: int) -> Cell | None:
    column = grid.columns[number]
    place = int(column.place[row])
    if place < 0:
        return None
    cells = column.cells
    trials, scored = int(cells.trials[place]), int(cells.scored[place])
    change = changed_by(grid.columns[0], column, row) if number else None
    return Cell(
        value=known(cells.value[place]),
        passed=known(cells.passed[place]),
        trials=trials,
        failed=trials - scored,
        change=change,
        word=word_of(grid, number, row) if number else "",
    )


def changed_by(base: Column, other: Column, row: int) -> float | None:
    if base.place[row] < 0 or other.place[row] < 0:
        return None
    return known(other.cells.value[other.place[row]] - base.cells.value[base.place[row]])


def word_of(grid: Grid, number: int, row: int) -> str:
    """Whether this side regressed; a row may be shown because another one did."""
    base, other = grid.columns[0], grid.columns[number]
    before, after = base.place[row], other.place[row]
    if before < 0:
        return "only here"
    if base.cells.scored[before] == 0 or other.cells.scored[after] == 0:
        return "errored"
    passed = known(other.cells.passed[after] - base.cells.passed[before])
    level = changed_by(base, other, row) if passed is None else passed
    if level is None or abs(level) <= CLOSE:
        return ""
    return "improved" if level > 0 else "regressed"


def known(number: Any) -> float | None:
    return None if number != number else float(number)
