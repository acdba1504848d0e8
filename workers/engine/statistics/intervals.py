"""Means with their uncertainty, and latencies in bins that can be added up."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from workers.engine.statistics.distributions import Z, t_quantile

BIN_RATIO = 1.08  # a percentile read from the bins is within 4 % of the true one
LOG_BIN_RATIO = math.log(BIN_RATIO)


class Estimate(NamedTuple):
    """A mean with its 95 % interval. Never a bare mean."""

    value: float
    low: float
    high: float
    n: int


def estimate_mean(n: int, total: float, square_total: float) -> Estimate | None:
    """From the count, the sum and the sum of squares. None when there is nothing to average."""
    if n == 0:
        return None
    mean = total / n
    is_share = 0 <= mean <= 1 and math.isclose(total, square_total, abs_tol=1e-9)
    variance = max(0.0, (square_total - n * mean * mean) / (n - 1)) if n > 1 else 0.0
    if is_share or variance == 0.0:
        return Estimate(mean, *wilson(mean, n), n)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    return Estimate(mean, mean - half, mean + half, n)


def wilson(share: float, n: float) -> tuple[float, float]:
    """The interval of a share. Has a width even when all answers are right."""
    if not 0 <= share <= 1:
        return share, share
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def bin_of(milliseconds: float) -> str:
    return str(math.floor(math.log(max(milliseconds, 0.1)) / LOG_BIN_RATIO))


def add_to_bins(bins: dict[str, int], milliseconds: float) -> None:
    name = bin_of(milliseconds)
    bins[name] = bins.get(name, 0) + 1


def merge_bins(bins: dict[str, int], more: Mapping[str, int], sign: int = 1) -> None:
    """Add counts to the bins, or take them out again."""
    for name, count in more.items():
        bins[name] = bins.get(name, 0) + sign * count
        if not bins[name]:
            del bins[name]


def percentile(bins: Mapping[str, int], share: float) -> float | None:
    """The latency below which that share lies, in milliseconds."""
    total = sum(bins.values())
    if not total:
        return None
    rest = share * total
    for name in sorted(bins, key=int):
        rest -= bins[name]
        if rest <= 1e-9:
            break
    return middle_of(name)


def middle_of(name: str) -> float:
    """The milliseconds that a bin stands for."""
    return float(BIN_RATIO ** (int(name) + 0.5))
