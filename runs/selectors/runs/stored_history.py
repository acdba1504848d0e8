"""The scores of a run as its strategy was told them: from a position on, in order."""

from bisect import bisect_left

from runs.models import Run
from runs.selectors.case_sources import positions_of
from workers.engine.records import Score, Trial

FIELDS = (
    "position",
    "candidate__key",
    "case__position",
    "repeat",
    "value",
    "error_class",
    "latency_ms",
    "full_cost",
)


def as_stored(score: Score) -> Score:
    """A fresh score as it will be read: what a strategy learns must not depend on who tells it."""
    return score_of(*score.trial, score.value, score.error, score.latency_ms, score.full_cost)


def stored_history(run: Run, start: int = 0) -> list[Score]:
    """Cases by their numbers in the run, as its strategy asked for them."""
    rows = run.scores.filter(position__gte=start).order_by("position").values_list(*FIELDS)
    positions = positions_of(run)
    if isinstance(positions, range):  # from 0 on: a row's number is its position
        return [score_of(*row) for row in rows]
    return [
        score_of(position, candidate, bisect_left(positions, case), *rest)
        for position, candidate, case, *rest in rows
    ]


def score_of(
    position: int,
    candidate: str,
    case: int,
    repeat: int,
    value: float | None,
    error: str,
    latency_ms: float | None,
    full_cost: float | None,
) -> Score:
    """In the order of FIELDS."""
    return Score(
        Trial(position, candidate, case, repeat),
        value=value,
        error=error,
        latency_ms=latency_ms,
        full_cost=full_cost,
    )
