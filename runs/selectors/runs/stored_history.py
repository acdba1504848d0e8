"""The scores of a run as its strategy was told them: from a position on, in order."""

from runs.models import Run
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
    rows = run.scores.filter(position__gte=start).order_by("position").values_list(*FIELDS)
    return [score_of(*row) for row in rows]


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
