"""Box plots: five numbers, and what is drawn alone."""

import pytest

from workers.engine.statistics.boxes import MOST_OUTSIDE, box_of


@pytest.mark.parametrize(
    ("values", "five", "outside"),
    [
        pytest.param([3.0], (3, 3, 3, 3, 3), (), id="one value"),
        pytest.param([5.0] * 9, (5, 5, 5, 5, 5), (), id="all equal"),
        pytest.param([4.0, 2.0, 1.0, 3.0, 5.0], (1, 2, 3, 4, 5), (), id="in any order"),
        pytest.param([1, 2, 3, 4, 5, 99], (1, 2.25, 3.5, 4.75, 5), (99,), id="one outside"),
        pytest.param([0, 5, 5, 5, 5, 9], (5, 5, 5, 5, 5), (0, 9), id="both sides of no width"),
    ],
)
def test_a_box(values: list[float], five: tuple[float, ...], outside: tuple[float, ...]) -> None:
    box = box_of(values)
    assert box is not None
    assert (box.low, box.first, box.median, box.third, box.high) == five
    assert box.outside == outside
    assert (box.n, box.lowest, box.highest) == (len(values), min(values), max(values))


def test_no_values_have_no_box() -> None:
    assert box_of([]) is None


def test_of_many_that_lie_outside_some_are_drawn_with_the_farthest() -> None:
    far = [float(number) for number in range(1000, 2000)]
    box = box_of([0.0, 1.0, 2.0] * 1000 + far)
    assert box is not None
    assert 2 < len(box.outside) <= MOST_OUTSIDE
    assert box.outside[-1] == box.highest == 1999
