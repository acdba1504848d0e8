"""The change of a percentile between two runs over the same cases."""

import numpy
import pytest

from workers.engine.statistics.percentiles import FEWEST_CASES, compare_percentiles


def drawn(seed: int, cases: int = 400, repeats: int = 2, shift: float = 0.1):
    """Latencies of two runs: hard cases are slow in both."""
    random = numpy.random.default_rng(seed)
    case = numpy.repeat(numpy.arange(cases), repeats)
    hard = random.normal(0, 0.4, cases)[case]
    before, after = (numpy.exp(6 + hard + random.normal(0, 0.4, len(case))) for _ in range(2))
    return before, case, after * numpy.exp(shift), case


def test_the_interval_is_as_wide_as_the_bootstrap_of_cases_has_it() -> None:
    before, case, after, _ = drawn(seed=3)
    found = compare_percentiles(before, case, after, case)
    assert found is not None
    assert found.mean == pytest.approx(numpy.quantile(after, 0.95) - numpy.quantile(before, 0.95))
    random = numpy.random.default_rng(0)
    old, new = before.reshape(-1, 2), after.reshape(-1, 2)
    drawn_again = [random.integers(0, len(old), len(old)) for _ in range(400)]
    changes = [numpy.quantile(new[d], 0.95) - numpy.quantile(old[d], 0.95) for d in drawn_again]
    half = 1.96 * numpy.std(changes)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.35)


def test_intervals_hold_what_they_promise() -> None:
    middle = 6 + 1.6448536 * 0.32**0.5
    true = numpy.exp(middle + 0.1) - numpy.exp(middle)
    found = [compare_percentiles(*drawn(seed)) for seed in range(300)]
    held = sum(one.low <= true <= one.high for one in found if one)
    assert 0.92 <= held / 300 <= 0.99


def test_few_cases_and_equal_latencies() -> None:
    few = drawn(seed=1, cases=FEWEST_CASES - 1)
    assert compare_percentiles(*few) is None
    same, cases = numpy.full(50, 100.0), numpy.arange(50)
    found = compare_percentiles(same, cases, same, cases)
    assert found is not None
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
