"""Which cases a generation is tried on: few at first, more when the prompts are good.

Later sets contain the earlier ones, in one order for the whole run. So nothing is asked twice,
every genome of a generation is measured on the same cases, and fitness never compares different
samples: whoever lives on is scored on the cases that came since.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple


class Stage(NamedTuple):
    until: int  # the last generation of the stage, counted from 0
    share: float  # of the cases


STAGES = (Stage(10, 0.5), Stage(20, 0.75))  # then all


def order_of_cases(cases: int, seed: int) -> list[int]:
    order = list(range(cases))
    Random(f"{seed} cases").shuffle(order)
    return order


def cases_in(generation: int, cases: int, stages: Sequence[Stage]) -> int:
    """How many of the order the generation is tried on."""
    share = next((stage.share for stage in stages if generation <= stage.until), 1.0)
    return max(1, min(cases, round(share * cases)))
