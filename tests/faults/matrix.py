"""The fault matrix: every row with what it promises, where it is played, and which are not."""

from __future__ import annotations

import re

from tests.faults.matrix_calls import CALLS
from tests.faults.matrix_parts import PARTS
from tests.faults.matrix_row import Row


def number_of(row: Row) -> int:
    return int(re.sub(r"\D", "", row.name))


ROWS: tuple[Row, ...] = tuple(sorted((*PARTS, *CALLS), key=number_of))
BY_NAME = {row.name: row for row in ROWS}
