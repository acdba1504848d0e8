"""A run's scores for programs: one row a trial, page by page in the order of the trials."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from typing_extensions import TypedDict

from runs.models import Run, Score
from runs.selectors.pickable import Pickable
from runs.selectors.trials import TrialFilters, filter_scores, rendered_prompt
from workers.engine import records

# `class` is a word of Python's own, so it cannot be written as a class with fields.
TrialError = TypedDict("TrialError", {"class": str, "message": str})

COLUMNS = (
    "position",
    "candidate__key",
    "case__position",
    "repeat",
    "value",
    "passed",
    "error_class",
    "error_message",
    "answer",
    "latency_ms",
    "tokens_in",
    "tokens_out",
    "cost",
    "cached",
    "attempts",
    "finished",
)


class ScoreRow(Pickable):
    """What became of one trial. `candidate` and `case` are stable keys within the run."""

    position: int
    candidate: str
    case: int
    repeat: int
    value: float | None
    passed: bool | None
    error: TrialError | None
    answer: str
    latency_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    cached: bool
    attempts: int
    finished: datetime


class Message(BaseModel):
    role: str
    content: str


class AttemptRow(BaseModel):
    what: str
    outcome: str
    waited_ms: float
    took_ms: float
    message: str


class JudgementRow(BaseModel):
    scorer: str
    value: float
    passed: bool
    explanation: str


class TrialDetail(ScoreRow):
    """One trial in full: what was asked, every attempt, what each scorer said."""

    candidate_name: str
    fields: dict[str, str]
    prompt: list[Message]
    attempt_log: list[AttemptRow]
    judgements: list[JudgementRow]


def list_score_rows(
    run: Run,
    filters: TrialFilters,
    *,
    after: int | None,
    since: datetime | None,
    most: int,
) -> list[ScoreRow]:
    """At most `most` rows behind a trial's position; only those finished since a moment."""
    found = filter_scores(run, filters)
    if after is not None:
        found = found.filter(position__gt=after)
    if since is not None:
        found = found.filter(finished__gte=since)
    return [row_of(values) for values in found.order_by("position").values(*COLUMNS)[:most]]


def row_of(values: Mapping[str, Any]) -> ScoreRow:
    return ScoreRow.model_construct(**shape(values))


def shape(values: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in values.items() if name in ScoreRow.model_fields}
    error = {"class": values["error_class"], "message": values["error_message"]}
    return {
        **plain,
        "candidate": values["candidate__key"],
        "case": values["case__position"],
        "error": error if values["error_class"] else None,
        "attempts": len(values["attempts"]),
    }


def trial_detail(score: Score) -> TrialDetail:
    """Of a score with its candidate and case."""
    values = {name: getattr(score, name) for name in COLUMNS if "__" not in name}
    keys = {"candidate__key": score.candidate.key, "case__position": score.case.position}
    return TrialDetail(
        **shape({**values, **keys}),
        candidate_name=score.candidate.name,
        fields=score.case.fields,
        prompt=[Message(**message) for message in rendered_prompt(score)],
        attempt_log=[AttemptRow(**records.Attempt(*row)._asdict()) for row in score.attempts],
        judgements=[JudgementRow(**records.Judgement(*row)._asdict()) for row in score.details],
    )
