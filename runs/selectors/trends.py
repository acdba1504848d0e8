"""How the score, the cost and the latency of a configuration went over its runs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from pydantic import BaseModel

from runs.models import Configuration, Run, RunGate, RunState
from runs.selectors.configurations import runs_of
from runs.selectors.gates import gate_states
from runs.selectors.runs.baselines import COMPARABLE
from runs.selectors.runs.run_list import RunRow, describe, for_rows
from workers.engine.statistics.intervals import percentile

MOST_POINTS = 100


class TrendPoint(BaseModel):
    """One complete run. Latencies in milliseconds, of the calls made in it; null: it made none, or
    the price of no answer is known."""

    run: int
    version: int | None
    state: RunState
    ended: datetime | None
    score: float | None
    low: float | None
    high: float | None
    failed_share: float | None
    cost: float | None
    latency_p50: float | None
    latency_p95: float | None
    gate: str | None = None  # pending, passed, failed or regressed; null: nothing was asked


def trend_of(
    stored: Configuration, runs: QuerySet[Run], most: int = MOST_POINTS
) -> list[TrendPoint]:
    """Of the newest complete ones that the person may see, the oldest first."""
    complete = for_rows(runs_of(stored, runs).filter(state__in=COMPARABLE))
    rows = describe(complete.order_by("-pk")[:most])
    gates = gate_states([row.run.pk for row in rows])
    return [point_of(row, gates.get(row.run.pk)) for row in reversed(rows)]


def point_of(row: RunRow, gate: RunGate | None) -> TrendPoint:
    run, score = row.run, row.score
    return TrendPoint(
        run=run.pk,
        version=run.configuration_version,
        state=RunState(run.state),
        ended=run.ended,
        score=score.value if score else None,
        low=score.low if score else None,
        high=score.high if score else None,
        failed_share=row.failed_share,
        cost=None if run.unpriced and not run.cost else run.cost,
        latency_p50=percentile(run.latency_bins, 0.5),
        latency_p95=percentile(run.latency_bins, 0.95),
        gate=gate.state if gate else None,
    )


def as_columns(points: Sequence[TrendPoint]) -> dict[str, list[Any]]:
    """As charts read them."""
    names = ("run", "version", "score", "low", "high", "cost", "latency_p50", "latency_p95")
    return {name: [getattr(point, name) for point in points] for name in names}
