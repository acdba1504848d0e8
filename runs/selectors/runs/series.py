"""A run's chart: its stored seconds, gathered into as many points as a chart can show."""

from dataclasses import dataclass, field
from typing import Any

from runs.models import Run
from runs.selectors.limits.rates import Answered, newest_of
from workers.engine.statistics.intervals import merge_bins, percentile

MAX_POINTS = 600  # more than a chart has pixels to spare
MIN_POINTS = 30  # fewer show no course, however slow the model
STEPS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)  # seconds
COLUMNS = ("second", "fresh", "cached", "failed", "in_flight", "latency_p50", "latency_p95")


@dataclass(slots=True)
class Bucket:
    second: int
    fresh: int = 0
    cached: int = 0
    failed: int = 0
    in_flight: int = 0
    bins: dict[str, int] = field(default_factory=dict)

    def as_row(self, step: int) -> list[float | None]:
        """Counts become rates, so that a chart reads the same at every step."""
        return [
            self.second,
            round(self.fresh / step, 4),
            round(self.cached / step, 4),
            round(self.failed / step, 4),
            self.in_flight,
            rounded(percentile(self.bins, 0.5)),
            rounded(percentile(self.bins, 0.95)),
        ]


@dataclass(frozen=True, slots=True)
class Series:
    step: int
    rows: list[Bucket]
    newest: list[Answered]  # seconds with answers, newest first

    def as_frame(self, last: int | None = None) -> dict[str, Any]:
        rows = self.rows if last is None else self.rows[-last:]
        return {
            "step": self.step,
            "columns": list(COLUMNS),
            "rows": [row.as_row(self.step) for row in rows],
        }


def rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 1)


def read_series(run: Run) -> Series:
    samples = list(run.samples.order_by("second"))
    length = samples[-1].second + 1 if samples else 1
    step = step_of(length, percentile(run.latency_bins, 0.5))
    buckets: dict[int, Bucket] = {}
    for sample in samples:
        second = sample.second // step * step
        bucket = buckets.setdefault(second, Bucket(second))
        bucket.fresh += sample.fresh
        bucket.cached += sample.cached
        bucket.failed += sample.failed
        bucket.in_flight = max(bucket.in_flight, sample.in_flight)
        merge_bins(bucket.bins, sample.latency_bins)
    return Series(step, list(buckets.values()), newest_of(samples))


def step_of(length: int, latency_ms: float | None) -> int:
    """Seconds in a point: so many that a chart has room for all, and that calls of the usual
    length end in most of them, or a slow model would be drawn as a row of spikes."""
    least = max(length / MAX_POINTS, min((latency_ms or 0) / 1000, length / MIN_POINTS))
    return next((step for step in STEPS if step >= least), STEPS[-1])
