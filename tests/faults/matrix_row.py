"""One row of the fault matrix, and the shapes of the sites that rows are played on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.faults.cluster import Shape
from tests.faults.stage import Stage

SHORT_LEASE_SECONDS = 6  # of the short tier, which has no time to wait for the usual ones

SHAPES: dict[str, Shape] = {
    "sqlite": Shape(),
    "postgres": Shape(database="postgres"),
    "small disk": Shape(storage_mb=96),
    "lossy": Shape(settings="tests.faults.lossy_settings"),
}


class Row(NamedTuple):
    """The number in the matrix; a letter marks a variant of it."""

    name: str
    fault: str
    bar: str
    play: Callable[[Stage], None]
    shape: str = "sqlite"
    is_short: bool = False  # part of the short tier
