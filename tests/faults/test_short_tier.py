"""The short tier of the fault suite: the same rows as `make faults`, with small loads."""

from collections.abc import Iterator

import pytest

from tests.faults.matrix import ROWS, Row
from tests.faults.playing import Playhouse, playhouse

pytestmark = [pytest.mark.late, pytest.mark.alone]

SEED = 7
SHORT_ROWS = sorted((row for row in ROWS if row.is_short), key=lambda row: row.shape)
# They may be played side by side, each group in a process and on sites of its own, and take about
# as long as each other and as all the rest.
GROUPS = {"deaths": ("1", "3", "45"), "troubles": ("4", "7", "9", "10", "17", "18")}


def as_parameter(row: Row) -> object:
    groups = (name for name, rows in GROUPS.items() if row.name in rows)
    mark = pytest.mark.xdist_group(next(groups, "rest"))
    return pytest.param(row, marks=mark, id=f"row {row.name}")


@pytest.fixture(scope="module")
def house() -> Iterator[Playhouse]:
    with playhouse(is_full=False) as house:
        yield house


@pytest.mark.parametrize("row", [as_parameter(row) for row in SHORT_ROWS])
def test_the_promises_hold_under(row: Row, house: Playhouse) -> None:
    result = house.play(row, SEED)
    assert result["violations"] == [], result
