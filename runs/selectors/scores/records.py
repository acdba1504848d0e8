"""What an export holds of every score: the same record for files, the API and commands."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from runs.models import Run, Score
from runs.selectors.scores.rows import TrialError, expected_of
from runs.selectors.scores.trials import TrialFilters, filter_scores
from workers.engine.records import Judgement

PAGE_ROWS = 200  # an answer may be long, and a page of them is in memory at once
ALL = TrialFilters()


class ScoreRecord(TypedDict):
    """One trial with what was asked, expected and answered."""

    position: int
    candidate: str
    candidate_name: str
    case: int
    repeat: int
    question: str
    expected: str | None
    answer: str
    value: float | None
    passed: bool | None
    judgements: list[dict[str, Any]]
    error: TrialError | None
    latency_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    full_cost: float | None
    cached: bool
    truncated: bool
    attempts: int


def read_records(
    run: Run, filters: TrialFilters = ALL, since: datetime | None = None
) -> Iterator[ScoreRecord]:
    """In the order of the trials. Every page is a query of its own, so that a slow reader holds no
    connection, and may go on in another thread."""
    found = filter_scores(run, filters).select_related("candidate", "case").order_by("position")
    found = found.defer("calls", "candidate__document", "candidate__latency_bins")
    if since is not None:
        found = found.filter(finished__gte=since)
    last = -1
    while page := list(found.filter(position__gt=last)[:PAGE_ROWS]):
        yield from (stored_record(run, score) for score in page)
        last = page[-1].position


def stored_record(run: Run, score: Score) -> ScoreRecord:
    error: TrialError = {"class": score.error_class, "message": score.error_message}
    return {
        "position": score.position,
        "candidate": score.candidate.key,
        "candidate_name": score.candidate.name,
        "case": score.case.position,
        "repeat": score.repeat,
        "question": score.case.question,
        "expected": expected_of(run, score.case.fields),
        "answer": score.answer,
        "value": score.value,
        "passed": score.passed,
        "judgements": [Judgement(*row)._asdict() for row in score.details],
        "error": error if score.is_error else None,
        "latency_ms": score.latency_ms,
        "tokens_in": score.tokens_in,
        "tokens_out": score.tokens_out,
        "cost": score.cost,
        "full_cost": score.full_cost,
        "cached": score.cached,
        "truncated": score.truncated,
        "attempts": len(score.attempts),
    }
