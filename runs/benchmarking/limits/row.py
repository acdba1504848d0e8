"""What a row of a suite with bars is."""

from collections.abc import Callable
from typing import NamedTuple

from runs.benchmarking.limits.bars import Outcome
from runs.benchmarking.limits.stage import Stage


class Row(NamedTuple):
    title: str
    measure: Callable[[Stage], Outcome]
    fewest_workers: int = 1
