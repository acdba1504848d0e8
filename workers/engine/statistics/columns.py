"""Trials as columns of numbers, so that runs of a hundred thousand are compared in a moment.

numpy takes 25 MB and 0.3 s, which no process pays that compares nothing: it is imported where it is
used.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Numbers = Any  # a numpy array: to name its type is to import numpy
CASES = 2**31  # more than any dataset has, so that a candidate and a case make one number
REPEATS = 2**15


class Result(NamedTuple):
    """What a comparison needs of a score. `candidate` is its place among those of its run, `case`
    is equal where the case is the same."""

    candidate: int
    case: int
    repeat: int
    value: float | None  # None: the trial failed
    passed: bool | None
    position: int
    cost: float | None = None  # dollars, whether paid or cached; None: unknown
    latency: float | None = None  # milliseconds


class Columns(NamedTuple):
    """One row a trial. What is None in a Result is nan here."""

    candidate: Numbers
    case: Numbers
    repeat: Numbers
    value: Numbers
    passed: Numbers
    position: Numbers
    cost: Numbers
    latency: Numbers

    @property
    def is_scored(self) -> Numbers:
        import numpy

        return ~numpy.isnan(self.value)

    def only(self, rows: Numbers) -> "Columns":
        return Columns(*(column[rows] for column in self))


class Cells(NamedTuple):
    """A case of a candidate, its repeats folded into one; sorted by key, each key once. nan where
    nothing was scored or known."""

    key: Numbers
    trials: Numbers
    scored: Numbers
    value: Numbers  # means over the repeats
    passed: Numbers  # the share of repeats that passed
    cost: Numbers

    @property
    def case(self) -> Numbers:
        return self.key % CASES

    @property
    def failed_share(self) -> Numbers:
        return 1.0 - self.scored / self.trials


def columns_of(rows: Iterable[Sequence[Any]]) -> Columns:
    """Of rows in the order of a Result's fields."""
    import numpy

    return columns_in(numpy.array(list(rows), dtype=float).reshape(-1, len(Result._fields)))


def columns_in(table: Numbers) -> Columns:
    import numpy

    named = dict(zip(Result._fields, numpy.ascontiguousarray(table.T), strict=True))
    whole = {name: named[name].astype(numpy.int64) for name in WHOLE_NUMBERS}
    return Columns(**{**named, **whole})


WHOLE_NUMBERS = ("candidate", "case", "repeat", "position")


def of_candidates(trials: Columns, places: Sequence[int]) -> Columns:
    import numpy

    return trials.only(numpy.isin(trials.candidate, places))


def cell_keys(trials: Columns, groups: Numbers) -> Numbers:
    """`groups`: by a candidate's place, the number of what it is compared as."""
    return groups[trials.candidate] * CASES + trials.case


def fold(trials: Columns, groups: Numbers) -> Cells:
    """Of trials whose candidates all have a group."""
    import numpy

    keys, cell = numpy.unique(cell_keys(trials, groups), return_inverse=True)
    n = len(keys)

    def mean(values: Numbers) -> Numbers:
        known = ~numpy.isnan(values)
        total = numpy.bincount(cell, numpy.where(known, values, 0.0), n)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            return total / numpy.bincount(cell, known, n)

    return Cells(
        key=keys,
        trials=numpy.bincount(cell, minlength=n),
        scored=numpy.bincount(cell, trials.is_scored, n),
        value=mean(trials.value),
        passed=mean(trials.passed),
        cost=mean(trials.cost),
    )


def mean_by(groups: Numbers, values: Numbers) -> Numbers:
    """The mean of the values of each group, in the order of the groups' numbers."""
    import numpy

    _, place, count = numpy.unique(groups, return_inverse=True, return_counts=True)
    return numpy.bincount(place, values) / count if len(groups) else values
