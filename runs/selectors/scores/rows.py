"""A run's scores for programs: one row a trial, page by page in the order of the trials."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from runs.models import Run, Score
from runs.selectors.paging import BY_POSITION, place
from runs.selectors.scores.columns import CARRIED, ScoreRow, row_of
from runs.selectors.scores.overrides import OverrideRow, override_row, overrides_of
from runs.selectors.scores.prompts import shown_messages
from runs.selectors.scores.score_records import record_size
from runs.selectors.scores.trials import (
    TrialFilters,
    case_of,
    filter_scores,
    judge_calls,
    step_calls,
)
from workers.engine import records
from workers.engine.records import Trial


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
    """What one scorer said. Without a value the answer is not scored by it, which is no zero;
    `error` says why, where something failed. `votes` are what each judge of a panel gave."""

    name: str
    value: float | None
    passed: bool | None
    label: str
    reason: str
    error: str
    votes: list[float]


class JudgeUse(BaseModel):
    """What scorers that ask a model used for one answer; nothing of it is in the trial's own
    latency, tokens and cost. Calls are `done` with or without an answer; `latency_ms` is added up
    over those that were made and answered."""

    done: int
    failed: int
    sent: int
    cached: int
    cost: float
    tokens_in: int
    tokens_out: int
    latency_ms: float


class TrialDetail(ScoreRow):
    """One trial in full: what was asked, every attempt, what each scorer said. `calls` are those
    of a pipeline, `judge_calls` those of its scorers, in the order in which they began. A trial
    with `record_bytes` has a record."""

    candidate_name: str
    fields: dict[str, str]
    prompt: list[Message]
    calls: list[StepCallRow]
    attempt_log: list[AttemptRow]
    judgements: list[JudgementRow]
    record_bytes: int | None
    judge_calls: list[StepCallRow]
    judge_use: JudgeUse | None
    overrides: list[OverrideRow]


STORED = (
    *("position", "candidate__key", "case__position", "repeat"),
    *CARRIED,
    *("candidate__role", "error_class", "error_message", "attempts"),
)


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
    """At most `most` rows behind a trial's position; only those finished since a moment."""
    found = filter_scores(run, filters)
    if since is not None:
        found = found.filter(finished__gte=since)
    rows = BY_POSITION.walk(found, place(after)).values_list(*STORED, "finished")
    return [{**stored_row(row), "finished": finished} for *row, finished in rows[:most]]


def stored_row(values: Sequence[Any]) -> dict[str, Any]:
    """Of the values of STORED."""
    first, last = len(Trial._fields), len(STORED) - 4
    return row_of(Trial(*values[:first]), values[first:last], *values[last:])


def row_of_score(score: Score) -> dict[str, Any]:
    """Of a score with its candidate and case."""
    trial = Trial(score.position, score.candidate.key, score.case.position, score.repeat)
    carried = [getattr(score, name) for name in CARRIED]
    error, message = score.error_class, score.error_message
    return row_of(trial, carried, score.candidate.role, error, message, score.attempts)


def trial_detail(score: Score) -> TrialDetail:
    """Of a score with its candidate and case."""
    return TrialDetail(
        **row_of_score(score),
        finished=score.finished,
        candidate_name=score.candidate.name,
        fields=score.case.fields,
        prompt=[
            Message(role=one.role, content=one.content)
            for one in shown_messages(score, case_of(score))
        ],
        calls=[StepCallRow.model_validate(call._asdict()) for call in step_calls(score)],
        attempt_log=[AttemptRow(**records.Attempt(*row)._asdict()) for row in score.attempts],
        judgements=[JudgementRow(**records.Judgement.read(row)._asdict()) for row in score.details],
        record_bytes=record_size(score),
        judge_calls=[StepCallRow.model_validate(call._asdict()) for call in judge_calls(score)],
        judge_use=(score.judging or {}).get("use"),
        overrides=[override_row(one) for one in overrides_of(score)],
    )
