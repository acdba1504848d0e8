"""Means come with an interval; latencies can be added up."""

from random import Random

import pytest

from workers.engine.statistics.intervals import add_to_bins, estimate_mean, merge_bins, percentile


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [  # Wilson's interval, computed by hand with z = 1.96
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (90, 100, 0.8256, 0.9448),
    ],
)
def test_a_share_has_wilsons_interval(right: int, n: int, low: float, high: float) -> None:
    found = estimate_mean(n, right, right)
    assert found is not None
    assert found.value == right / n
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-4)


def test_nothing_scored_is_no_score() -> None:
    assert estimate_mean(0, 0.0, 0.0) is None


def test_equal_scores_still_have_a_width() -> None:
    found = estimate_mean(2, 1.0, 0.5)
    assert found is not None
    assert found.low < found.value < found.high


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_percentiles_from_bins_are_close_to_the_true_ones(share: float) -> None:
    random = Random(3)
    values = [random.lognormvariate(5, 1) for _ in range(5000)]
    left: dict[str, int] = {}
    right: dict[str, int] = {}
    for place, value in enumerate(values):
        add_to_bins(left if place % 2 else right, value)
    merge_bins(left, right)
    true = sorted(values)[int(share * len(values))]
    assert percentile(left, share) == pytest.approx(true, rel=0.05)


def test_no_latency_has_no_percentile() -> None:
    assert percentile({}, 0.5) is None
