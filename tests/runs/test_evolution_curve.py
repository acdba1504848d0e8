"""The picture of fitness by generation."""

from runs.kinds.evolve.curve import draw
from workers.engine.kinds.evolve.report import GenerationRow


def row(number, low, best):
    return GenerationRow(
        number=number, asked=10, evaluations=10, cases=5, genomes=2, failed=0, gated=0, best=best,
        best_so_far=best, mean=(low + best) / 2, low=low, high=best, diversity=0.5,
        crossover_rate=0.8, mutation_rate=0.2,
    )  # fmt: skip


def test_the_axis_begins_below_the_lowest_value_and_says_so():
    for values, begins, first in (
        ([(0.62, 0.7), (0.7, 0.93)], "0.6", "0.6"),  # near each other
        ([(0.02, 0.4), (0.3, 0.93)], "", "0"),  # from next to nothing
    ):
        curve = draw([row(number, *pair) for number, pair in enumerate(values)], "generation")
        assert (curve.begins, curve.y_ticks[0].text) == (begins, first)
        path = curve.lines[-1].path.split()
        assert min(float(part.partition("V")[2]) for part in path if "V" in part) < 20
