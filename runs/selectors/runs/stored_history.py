"""The scores of a run as its strategy was told them: from a position on, in order."""

from bisect import bisect_left
from dataclasses import replace
from typing import Any

from runs.models import Run
from runs.selectors.case_sources import positions_of
from runs.selectors.scores.score_records import records_from
from workers.engine.records import ANSWER, CASE, RECORD, Judgement, Score, Trial

NOTHING: frozenset[str] = frozenset()
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
# Columns that are read only for a strategy that hears them.
HEARD = {ANSWER: ("answer", "details"), CASE: ("case__fields",)}


def stored_history(
    run: Run, start: int = 0, hears: frozenset[str] = NOTHING, end: int | None = None
) -> list[Score]:
    """Cases by their numbers in the run, as its strategy asked for them; before `end`."""
    scores = read_scores(run, start, hears, end)
    if RECORD not in hears:
        return scores
    records = records_from(run, start, end)
    return [replace(score, record=records.get(score.trial.position)) for score in scores]


def read_scores(run: Run, start: int, hears: frozenset[str], end: int | None) -> list[Score]:
    more = [column for name, columns in HEARD.items() if name in hears for column in columns]
    wanted = run.scores.filter(position__gte=start)
    wanted = wanted if end is None else wanted.filter(position__lt=end)
    rows = wanted.order_by("position").values_list(*FIELDS, *more)
    positions = positions_of(run)
    if not more and isinstance(positions, range):  # from 0 on: a row's number is its position
        return [score_of(*row) for row in rows]
    width = len(FIELDS)
    return [
        score_of(
            position,
            candidate,
            bisect_left(positions, case),
            *rest[: width - 3],
            **dict(zip(more, rest[width - 3 :], strict=True)),
        )
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
    *,
    answer: str = "",
    details: list[Any] | tuple[Any, ...] = (),
    case__fields: dict[str, str] | None = None,
) -> Score:
    """In the order of FIELDS, then what is heard besides."""
    return Score(
        Trial(position, candidate, case, repeat),
        value=value,
        error=error,
        latency_ms=latency_ms,
        full_cost=full_cost,
        answer=answer,
        judgements=tuple(Judgement.read(row) for row in details),
        fields=case__fields,
    )
