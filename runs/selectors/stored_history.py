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
    "cost",
    "cached",
)


def stored_history(run: Run, start: int = 0) -> list[Score]:
    rows = run.scores.filter(position__gte=start).order_by("position").values_list(*FIELDS)
    return [
        Score(
            Trial(position, candidate, case, repeat),
            value=value,
            error=error,
            latency_ms=latency_ms,
            # What a cached answer did cost once is not stored: unknown, not nothing.
            cost=None if cached else cost,
        )
        for position, candidate, case, repeat, value, error, latency_ms, cost, cached in rows
    ]
