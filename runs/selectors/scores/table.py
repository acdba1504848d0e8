"""The table of scores as a page shows it: which columns, and what stands in them."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from runs.models import Candidate, Run, Score
from runs.selectors.scores.folded import Fold, folds_of
from runs.selectors.scores.rows import expected_of
from runs.selectors.scores.trials import TrialFilters, asked_of_a_try, is_evaluated
from workers.engine.records import Judgement

# Those a person may choose; the trial's number and its question are always there.
COLUMNS: dict[str, str] = {
    "expected": "Expected",
    "answer": "Answer",
    "found": "What the scorer found",
    "candidate": "Candidate",
    "result": "Result",
    "score": "Score",
    "latency": "Latency",
    "tokens": "Tokens",
    "cost": "Cost",
}
USUAL = ("expected", "answer", "found", "candidate", "result", "score", "latency")


def candidates_of(run: Run) -> QuerySet[Candidate]:
    """To filter by, in their order."""
    return run.candidates.order_by("position")


class TableRow(NamedTuple):
    score: Score
    question: str
    expected: str | None
    found: str
    is_evaluated: bool
    fold: Fold | None = None  # of a row that stands for several tries


class ColumnChoice(NamedTuple):
    name: str
    label: str
    is_shown: bool


def table_rows(run: Run, scores: Sequence[Score]) -> list[TableRow]:
    return [row_of(run, score) for score in scores]


def folded_rows(run: Run, scores: Sequence[Score], filters: TrialFilters) -> list[TableRow]:
    folds = folds_of(run, scores, asked_of_a_try(filters))
    rows = [
        (row, folds[row.score.candidate_id, row.score.case_id]) for row in table_rows(run, scores)
    ]
    return [row._replace(fold=fold) if fold.tries > 1 else row for row, fold in rows]


def row_of(run: Run, score: Score) -> TableRow:
    if not is_evaluated(score):
        return TableRow(score, score.candidate.name, None, "", is_evaluated=False)
    expected = expected_of(run, score.case.fields)
    return TableRow(score, score.case.question, expected, found_text(score), is_evaluated=True)


def found_text(score: Score) -> str:
    """What the scorers said; by name if there are several."""
    judgements = [Judgement.read(row) for row in score.details]
    if len(judgements) == 1:
        return judgements[0].told
    return "; ".join(f"{said.name}: {said.told}" for said in judgements)


def column_choices(shown: Sequence[str]) -> list[ColumnChoice]:
    return [ColumnChoice(name, label, name in shown) for name, label in COLUMNS.items()]
