"""Who is not beaten in quality, latency and price at once."""

from itertools import permutations
from random import Random

import pytest

from workers.engine.statistics.pareto import Point, dominates, front_of


@pytest.mark.parametrize(
    ("points", "front"),
    [
        pytest.param([], [], id="nobody"),
        pytest.param([Point(0.5, 1, 1)], [0], id="one alone"),
        pytest.param([Point(0.5, 1, 1), Point(0.6, 1, 1)], [1], id="better, else equal"),
        pytest.param([Point(0.5, 1, 1), Point(0.6, 2, 1)], [0, 1], id="better but slower"),
        pytest.param([Point(0.5, 1, 2), Point(0.5, 1, 1)], [1], id="only cheaper"),
        pytest.param([Point(0.5, 1, 1), Point(0.5, 1, 1)], [0, 1], id="equal ones both stay"),
        pytest.param([Point(0.0, 9, 9), Point(None, 1, 1)], [0], id="no quality, no place"),
        pytest.param([Point(None, None, None)], [], id="nothing known"),
        pytest.param([Point(0.6, 1, None), Point(0.5, 2, 9)], [0, 1], id="may be dearer"),
        pytest.param([Point(0.6, 1, 9), Point(0.5, 2, None)], [0], id="beaten where known"),
        pytest.param([Point(0.6, 1, None), Point(0.5, 2, None)], [0], id="price of nobody"),
    ],
)
def test_the_front(points: list[Point], front: list[int]) -> None:
    assert front_of(points) == front


def test_unknown_values_never_make_a_ring_in_which_everybody_is_beaten() -> None:
    ring = [Point(1, 1, 3), Point(1, 3, 1), Point(1, 2, None), Point(1, None, 2)]
    for order in permutations(ring):
        assert front_of(order), order


def test_the_front_is_what_comparing_all_pairs_finds() -> None:
    random = Random(4)
    for _ in range(200):
        points = [
            Point(*(random.choice([None, 1, 2, 3]) for _ in range(3)))
            for _ in range(random.randrange(12))
        ]
        able = [place for place, point in enumerate(points) if point.quality is not None]
        expected = [
            place
            for place in able
            if not any(dominates(points[other], points[place]) for other in able)
        ]
        assert front_of(points) == expected
