"""Turns the repeats of a measurement into one point: no number without n and its spread."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from runs.benchmarking.measuring import Measurement

FEWEST_FOR_CPU = 200  # trials; below, what idle workers use would be most of it


def spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "min": round(min(values), 4),
        "median": round(median(values), 4),
        "max": round(max(values), 4),
    }


def point(label: str, repeats: Sequence[Measurement]) -> dict[str, Any]:
    """What all kinds of points have in common."""
    first = repeats[0]
    return {
        "label": label,
        "concurrency": first.concurrency,
        "n": first.n,
        "repeats": len(repeats),
        "wall_seconds": spread([each.wall_seconds for each in repeats]),
        "ideal_seconds": round(sum(each.ideal_seconds for each in repeats) / len(repeats), 4),
        "ratio": spread([each.wall_seconds / each.ideal_seconds for each in repeats]),
        "trials_per_second": spread([each.trials_per_second for each in repeats]),
        "cpu_seconds_per_1000": cpu_per_1000(repeats),
        "peak_in_flight": max(each.traffic.peak_in_flight for each in repeats),
        "trials": sum(each.n for each in repeats),
        "calls": sum(each.traffic.calls for each in repeats),
        "refused": sum(each.traffic.refused for each in repeats),
        "failed": sum(each.failed for each in repeats),
        "cached": sum(each.cached for each in repeats),
    }


def cpu_per_1000(repeats: Sequence[Measurement]) -> dict[str, float] | None:
    used = [1000 * each.cpu_seconds / each.n for each in repeats if each.cpu_seconds is not None]
    return spread(used) if used and repeats[0].n >= FEWEST_FOR_CPU else None


def curve_point(
    repeats: Sequence[Measurement],
    sequential: Sequence[Measurement],
    *,
    slots: int,
    requests_per_minute: int | None,
) -> dict[str, Any]:
    """A level of concurrency against one call at a time, each within its own repeat."""
    level = repeats[0].concurrency
    label = "sequential" if level == 1 else f"{level} in flight"
    ceilings = [min(level, slots, rate_ceiling(each, requests_per_minute)) for each in repeats]
    return {
        **point(label, repeats),
        "speedup": spread(gains(repeats, sequential)),
        "ideal_speedup": float(level),
        "ceiling": round(median(ceilings), 4),
    }


def rate_ceiling(measured: Measurement, requests_per_minute: int | None) -> float:
    """Calls that a limit on requests a minute keeps in flight."""
    if requests_per_minute is None:
        return float("inf")
    return requests_per_minute * measured.latency_ms / 1000 / 60


def gains(repeats: Sequence[Measurement], base: Sequence[Measurement]) -> list[float]:
    """How many times faster than the base of the same repeat."""
    return [
        each.trials_per_second / other.trials_per_second
        for each, other in zip(repeats, base, strict=True)
    ]


def compared_point(
    label: str, repeats: Sequence[Measurement], base: Sequence[Measurement]
) -> dict[str, Any]:
    compared = {**point(label, repeats), "gain": spread(gains(repeats, base))}
    if not compared["calls"]:  # all from the cache: no latency, so no ideal
        compared.update(ideal_seconds=None, ratio=None)
    return compared
