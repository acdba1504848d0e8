"""The columns of a score for programs, defined once: rows of the API, records of files; of stored
scores and of those that only one process knows."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from runs.models.dataset import question_in
from runs.selectors.pickable import Pickable
from runs.selectors.scores.overrides import NO_HUMAN
from workers.engine.records import JUDGED, Judgement, Trial

# `class` is a word of Python's own, so it cannot be written as a class with fields.
TrialError = TypedDict("TrialError", {"class": str, "message": str})


class ScoreRow(Pickable):
    """What became of one trial. `candidate` and `case` are stable keys within the run. An answer
    that is `truncated` ended at max_tokens, or at the model's own length limit: it has an error of
    this class, or a value where the configuration says `score_truncated`. A trial of another
    `role` than evaluate is told to the run's strategy only: its value says that it was answered."""

    position: int
    candidate: str
    role: str
    case: int
    repeat: int
    answer: str
    value: float | None
    passed: bool | None
    error: TrialError | None
    latency_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    full_cost: float | None
    cached: bool
    truncated: bool
    attempts: int
    finished: datetime


_MADE = (*Trial._fields, "role", "error", "attempts", "finished")
CARRIED = tuple(name for name in ScoreRow.model_fields if name not in _MADE)
"""Which a stored and a fresh score have under the same name."""

_BEHIND = {
    "candidate": ("candidate_name",),
    "repeat": ("question", "expected"),
    "passed": ("judgements", *NO_HUMAN),
    "full_cost": ("judge_cost",),
}
LINE = tuple(
    column
    for name in ScoreRow.model_fields
    if name != "finished"
    for column in (name, *_BEHIND.get(name, ()))
)
"""The columns of a file: a row with what was asked, expected and said of the answer."""

ScoreLine = dict[str, Any]


def row_of(
    trial: Trial,
    carried: Sequence[Any],
    role: str,
    error: str,
    message: str,
    attempts: Sequence[Any],
) -> dict[str, Any]:
    """Shaped as a ScoreRow, which hundreds of them need not be made into."""
    return {
        **trial._asdict(),
        **dict(zip(CARRIED, carried, strict=True)),
        "role": role,
        "error": {"class": error, "message": message} if error else None,
        "attempts": len(attempts),
    }


def score_line(
    row: Mapping[str, Any],
    *,
    candidate_name: str,
    fields: Mapping[str, str],
    expected: str | None,
    judgements: Sequence[Judgement],
    judge_cost: float | None,
    human: Mapping[str, Any] = NO_HUMAN,
) -> ScoreLine:
    """`judge_cost` are the dollars that were spent on judging the answer; None: no model judged
    it."""
    is_evaluated = row["role"] in JUDGED  # others are asked something of their own
    known = {
        **row,
        "candidate_name": candidate_name,
        "question": question_in(fields) if is_evaluated else "",
        "expected": expected if is_evaluated else None,
        "judgements": [judgement._asdict() for judgement in judgements],
        "judge_cost": judge_cost,
        **human,
    }
    return {name: known[name] for name in LINE}
