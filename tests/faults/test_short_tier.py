"""The short tier of the fault suite: the same rows as `make faults`, with small loads."""

from collections.abc import Iterator

import pytest

from tests.faults.matrix import ROWS
from tests.faults.matrix_row import Row
from tests.faults.playing import Playhouse, playhouse

pytestmark = [pytest.mark.late, pytest.mark.alone]

SEED = 7
SHORT_ROWS = sorted((row for row in ROWS if row.is_short), key=lambda row: row.shape)


@pytest.fixture(scope="module")
def house() -> Iterator[Playhouse]:
    with playhouse(is_full=False) as house:
        yield house


@pytest.mark.parametrize("row", SHORT_ROWS, ids=lambda row: f"row {row.name}")
def test_the_promises_hold_under(row: Row, house: Playhouse) -> None:
    result = house.play(row, SEED)
    assert result["violations"] == [], result
