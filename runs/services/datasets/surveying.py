"""Looks through the rows of an import once: counts, checks, and takes their digest."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from runs.services.datasets.reading import Line, Row
from runs.services.datasets.sources import LineProblem, UnreadableError

MOST_PROBLEMS = 50  # shown; a wrong separator makes one problem per row

Lines = Callable[[], Iterator[Line]]


@dataclass(slots=True)
class Preview:
    """The first rows of a dataset, how many there are, and everything wrong with them."""

    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    total: int = 0
    problems: list[LineProblem] = field(default_factory=list)
    digest: str = ""
    size: int = 0  # bytes
    expected: str = ""  # the column with the expected answers; empty: none
    nested: list[str] = field(default_factory=list)  # columns with lists or objects, as JSON text


def survey_lines(lines: Lines, limit: int) -> Preview:
    """One pass: count, check, and take the digest."""
    found, digest, left_out = Preview(), hashlib.sha256(), 0
    try:
        for line in lines():
            if line.row is None:
                left_out += _note(found, LineProblem(line.number, line.problem))
                continue
            found.columns = found.columns or list(line.row)
            found.total += 1
            found.nested += [name for name in line.nested if name not in found.nested]
            if len(found.rows) < limit:
                found.rows.append(line.row)
            text = json.dumps(list(line.row.items())).encode() + b"\n"
            found.size += len(text)
            digest.update(text)
    except UnreadableError as error:
        left_out += _note(found, error.problem)
    if left_out:
        last = found.problems[-1].line
        found.problems.append(LineProblem(last, f"… and {left_out:,} more problems after this."))
    found.digest = digest.hexdigest()
    return found


def _note(found: Preview, problem: LineProblem) -> int:
    """Keep the problem, or count it if there are enough."""
    if len(found.problems) >= MOST_PROBLEMS:
        return 1
    found.problems.append(problem)
    return 0
