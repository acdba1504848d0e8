"""Paired differences against values from textbooks."""

import math

import pytest

from workers.engine.statistics.distributions import t_quantile
from workers.engine.statistics.paired import (
    NORMAL_FLIPS,
    NORMAL_SIGNS,
    SIGN_FLIPS,
    SIGN_TEST,
    approximate_flips,
    bonett_price,
    estimate_difference,
    flip_signs,
    sign_test,
)

# Darwin's maize, crossed minus self-fertilised, in eighths of an inch. Fisher (1935) counted
# 863 + 863 of the 32,768 ways to sign them as at least as far from 0; his interval by t is
# 0.03 to 41.8.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [
        pytest.param(0, 0, 1.0, id="nothing changed"),
        pytest.param(5, 5, 1.0, id="even"),
        pytest.param(9, 1, 22 / 1024, id="nine to one"),
        pytest.param(0, 6, 2 / 64, id="six to nothing"),
        pytest.param(3, 12, 2 * 576 / 32768, id="twelve to three"),
        pytest.param(600, 700, 0.00603, id="by the normal law"),
    ],
)
def test_sign_test(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == pytest.approx(p, rel=0.01)
    assert sign_test(worse, better) == sign_test(better, worse)


def test_flipped_signs_are_counted_as_fisher_did() -> None:
    assert flip_signs(MAIZE) == 2 * 863 / 2**15
    assert approximate_flips(MAIZE) == pytest.approx(0.0527, abs=0.004)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (14, 2.145),
     (30, 2.042), (120, 1.980), (10_000, 1.960)],
)  # fmt: skip
def test_t_quantile(freedom: int, quantile: float) -> None:
    assert t_quantile(freedom) == pytest.approx(quantile, rel=0.002)


def test_the_interval_of_a_difference_is_students() -> None:
    found = estimate_difference(MAIZE)
    assert found is not None
    assert found.mean == pytest.approx(20.933, abs=0.001)
    assert [found.low, found.high] == pytest.approx([0.03, 41.84], abs=0.02)
    assert (found.method, found.cases) == (SIGN_FLIPS, 15)


@pytest.mark.parametrize(
    ("by_case", "method"),
    [
        pytest.param([0, 0, 1, -1, 1], SIGN_TEST, id="right and wrong"),
        pytest.param([0.5, -0.5, 0.5, 0], SIGN_TEST, id="one size"),
        pytest.param([0.5, 1, 0], SIGN_FLIPS, id="several sizes"),
        pytest.param([0.1 * n for n in range(1, 30)], NORMAL_FLIPS, id="many"),
        pytest.param([1.0, -1.0] * 501, NORMAL_SIGNS, id="very many of one size"),
    ],
)
def test_the_method_fits_the_differences(by_case: list[float], method: str) -> None:
    found = estimate_difference(by_case)
    assert found is not None
    assert found.method == method
    assert found.low <= found.mean <= found.high
    assert 0 < found.p <= 1


def test_no_change_has_an_interval_that_shrinks_with_more_cases() -> None:
    few, many = estimate_difference([0.0] * 10), estimate_difference([0.0] * 1000)
    assert few is not None
    assert many is not None
    assert few.mean == 0.0
    assert few.p == many.p == 1.0
    assert few.low < many.low < 0 < many.high < few.high


def test_nothing_to_compare_is_no_difference() -> None:
    assert estimate_difference([]) is None


def test_one_case_of_a_lone_size_says_hardly_anything() -> None:
    found = estimate_difference([-1.0])
    assert found is not None
    assert found.p == 1.0
    assert found.low == -1.0
    assert found.high > 0


def test_exact_and_approximate_flips_agree_for_many() -> None:
    changes = [math.sin(n) for n in range(1, 17)]
    assert approximate_flips(changes) == pytest.approx(flip_signs(changes), abs=0.05)


def test_paired_shares_by_hand() -> None:
    low, high = bonett_price(better=9, worse=1, n=28)  # (10 - 2) / 30 -+ 1.96 sqrt(.3289 / 30)
    assert [low, high] == pytest.approx([0.0614, 0.4719], abs=1e-3)
