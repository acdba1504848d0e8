"""The picture of fitness by generation."""

import pytest

from runs.kinds.evolve.curve import draw
from workers.engine.kinds.evolve.report import GenerationRow


def row(number, low, best):
    return GenerationRow(
        number=number, asked=10, evaluations=10, cases=5, genomes=2, failed=0, gated=0, best=best,
        best_so_far=best, mean=(low + best) / 2, low=low, high=best, diversity=0.5,
        crossover_rate=0.8, mutation_rate=0.2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "begins", "first"),
    [
        pytest.param([(0.62, 0.7), (0.7, 0.93)], "0.6", "0.6", id="near each other"),
        pytest.param([(0.02, 0.4), (0.3, 0.93)], "", "0", id="from next to nothing"),
    ],
)
def test_the_axis_begins_below_the_lowest_value_and_says_so(values, begins, first):
    curve = draw([row(number, *pair) for number, pair in enumerate(values)], "generation")
    assert curve.begins == begins
    assert curve.y_ticks[0].text == first
    heights = [
        float(part.partition("V")[2]) for part in curve.lines[-1].path.split() if "V" in part
    ]
    assert min(heights) < 20
