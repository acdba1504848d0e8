"""A run's scores for programs: one row a trial, page by page in the order of the trials."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from typing_extensions import TypedDict

from runs.models import Run, Score
from runs.selectors.paging import BY_POSITION, place
from runs.selectors.pickable import Pickable
from runs.selectors.scores.trials import TrialFilters, filter_scores, rendered_prompt, step_calls
from workers.engine import records

# `class` is a word of Python's own, so it cannot be written as a class with fields.
TrialError = TypedDict("TrialError", {"class": str, "message": str})


class ScoreRow(Pickable):
    """What became of one trial. `candidate` and `case` are stable keys within the run. An answer
    that is `truncated` ended at max_tokens, or at the model's own length limit."""

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
    full_cost: float | None
    cached: bool
    truncated: bool
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
    step: str


class StepCallRow(BaseModel):
    """One call of a pipeline. `full_cost` is its price in dollars, paid or not."""

    step: str
    model: str
    prompt: list[Message]
    answer: str
    error: str
    latency_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    full_cost: float | None
    cached: bool
    truncated: bool


class JudgementRow(BaseModel):
    scorer: str
    value: float
    passed: bool
    explanation: str


class TrialDetail(ScoreRow):
    """One trial in full: what was asked, every attempt, what each scorer said. `calls` are those
    of a pipeline, in the order in which they began."""

    candidate_name: str
    fields: dict[str, str]
    prompt: list[Message]
    calls: list[StepCallRow]
    attempt_log: list[AttemptRow]
    judgements: list[JudgementRow]


# As they are stored, and as a row is made of them: `error` of its class and message.
SAME = (
    "position",
    "repeat",
    "value",
    "passed",
    "answer",
    "latency_ms",
    "tokens_in",
    "tokens_out",
    "cost",
    "full_cost",
    "cached",
    "truncated",
    "finished",
)
OTHER = ("candidate__key", "case__position", "error_class", "error_message", "attempts")


def expected_of(run: Run, fields: Mapping[str, str]) -> str | None:
    """The right answer to a case of the run; None if the case has none."""
    return fields.get(run.expected_column)


def list_score_rows(
    run: Run,
    filters: TrialFilters,
    *,
    after: int | None,
    since: datetime | None,
    most: int,
) -> list[dict[str, Any]]:
    """At most `most` rows behind a trial's position; only those finished since a moment. They
    are shaped as a ScoreRow, which hundreds of them need not be made into."""
    found = filter_scores(run, filters)
    if since is not None:
        found = found.filter(finished__gte=since)
    rows = BY_POSITION.walk(found, place(after)).values_list(*SAME, *OTHER)
    return [shape(row) for row in rows[:most]]


def shape(row: Sequence[Any]) -> dict[str, Any]:
    made = dict(zip(SAME, row, strict=False))
    candidate, case, error, message, attempts = row[len(SAME) :]
    made["candidate"], made["case"] = candidate, case
    made["error"] = {"class": error, "message": message} if error else None
    made["attempts"] = len(attempts)
    return made


def trial_detail(score: Score) -> TrialDetail:
    """Of a score with its candidate and case."""
    same = [getattr(score, name) for name in SAME]
    other = [score.candidate.key, score.case.position, score.error_class, score.error_message]
    return TrialDetail(
        **shape([*same, *other, score.attempts]),
        candidate_name=score.candidate.name,
        fields=score.case.fields,
        prompt=[Message(**message) for message in rendered_prompt(score)],
        calls=[StepCallRow.model_validate(call._asdict()) for call in step_calls(score)],
        attempt_log=[AttemptRow(**records.Attempt(*row)._asdict()) for row in score.attempts],
        judgements=[JudgementRow(**records.Judgement(*row)._asdict()) for row in score.details],
    )
