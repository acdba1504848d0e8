"""The scores table and the trial page: filters, sorting and pages of a run's scores."""

import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import F, FloatField, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Left

from runs.models import Run, Score
from runs.selectors.paging import Order, read_page
from workers.engine import records
from workers.engine.records import EVALUATE
from workers.engine.spec.template import TemplateError
from workers.engine.targets.chat import messages_of

PAGE_SIZE = 50
SHORTEST_SEARCH = 3  # shorter texts match nearly everything and read the whole table
MOST_COUNTED = 100_000  # beyond it "100k+" is good enough, and the count stays quick
LARGEST_POSITION = 2**31 - 1  # what the column holds
ANSWER_START = 800  # characters read of each answer, of which a row shows two lines
LAST = 1e300  # stands for "no value" so that failed trials sort last, in both directions

STATUSES: dict[str, str] = {
    "ok": "Scored",
    "correct": "Correct",
    "wrong": "Wrong",
    "failed": "Failed",
    "cached": "From cache",
    "truncated": "Cut at length limit",
    "filtered": "Withheld by a filter",
    "no_text": "Without text",
}

_STATUS_QUERIES: dict[str, Q] = {
    "ok": Q(error_class=""),
    "correct": Q(passed=True),
    "wrong": Q(passed=False),
    "failed": ~Q(error_class=""),
    "cached": Q(cached=True),
    "truncated": Q(truncated=True),
    "filtered": Q(error_class="filtered"),
    "no_text": Q(error_class="no_text"),
}

SORTS: dict[str, str] = {
    "position": "In order",
    "-position": "Latest first",
    "score": "Lowest score",
    "-score": "Highest score",
    "latency": "Fastest",
    "-latency": "Slowest",
}

_SORT_COLUMNS = {"position": "position", "score": "value", "latency": "latency_ms"}


@dataclass(frozen=True, slots=True)
class TrialFilters:
    status: str = ""
    candidate: int | None = None  # its position
    error: str = ""
    score_min: float | None = None
    score_max: float | None = None
    text: str = ""
    role: str = ""
    sort: str = "position"

    @property
    def are_set(self) -> int:
        values = (self.status, self.candidate, self.error, self.score_min, self.score_max)
        filled = sum(1 for value in values if value not in ("", None))
        return filled + bool(self.text) + bool(self.role)

    @property
    def wanted_role(self) -> str:
        """Who asks for scores asks for evaluations: what is only told has none."""
        bounds = (self.score_min, self.score_max)
        is_by_score = self.column == "value" or any(bound is not None for bound in bounds)
        return self.role or (EVALUATE if is_by_score else "")

    @property
    def is_descending(self) -> bool:
        return self.sort.startswith("-")

    @property
    def column(self) -> str:
        return _SORT_COLUMNS[self.sort.lstrip("-")]

    @property
    def order(self) -> Order:
        if self.column == "position":
            return Order(("position",), self.is_descending)
        return Order(("key", "position"), self.is_descending)


class Cursor(NamedTuple):
    """The place of a row in a sorted list. Ties are broken by position, so it is unique."""

    key: float
    position: int

    def __str__(self) -> str:
        return f"{self.key!r}~{self.position}"

    @classmethod
    def read(cls, text: str) -> "Cursor | None":
        """The cursor in an address; one that was tampered with counts as none."""
        key, _, position = text.partition("~")
        try:
            cursor = cls(float(key), int(position))
        except ValueError:
            return None
        is_sane = math.isfinite(cursor.key) and 0 <= cursor.position <= LARGEST_POSITION
        return cursor if is_sane else None


class TrialPage(NamedTuple):
    scores: list[Score]
    previous: Cursor | None
    next: Cursor | None


class Neighbours(NamedTuple):
    previous: Score | None
    next: Score | None


def filter_scores(run: Run, filters: TrialFilters) -> QuerySet[Score]:
    found = Score.objects.filter(run=run)
    if filters.status in _STATUS_QUERIES:
        found = found.filter(_STATUS_QUERIES[filters.status])
    if filters.candidate is not None:
        found = found.filter(candidate__position=filters.candidate, candidate__run=run)
    role = filters.wanted_role
    if role and (role != EVALUATE or run.told("done")):  # no join where all are evaluations
        found = found.filter(candidate__role=role)
    if filters.error:
        found = found.filter(error_class=filters.error)
    if filters.score_min is not None:
        found = found.filter(value__gte=filters.score_min)
    if filters.score_max is not None:
        found = found.filter(value__lte=filters.score_max)
    if len(filters.text) >= SHORTEST_SEARCH:
        found = found.filter(_mentions(filters.text))
    return found


def _mentions(text: str) -> Q:
    # SQLite stores a case's fields as JSON with escapes, PostgreSQL without: look for both.
    escaped = json.dumps(text)[1:-1]
    return (
        Q(answer__icontains=text)
        | Q(error_message__icontains=text)
        | Q(case__fields__icontains=text)
        | Q(case__fields__icontains=escaped)
    )


def count_scores(run: Run, filters: TrialFilters) -> int:
    """How many match, exact up to MOST_COUNTED; one more than that means "more"."""
    return filter_scores(run, filters).order_by()[: MOST_COUNTED + 1].count()


def _with_key(scores: QuerySet[Score], filters: TrialFilters) -> QuerySet[Score]:
    if filters.column == "position":
        return scores
    nothing = Value(-LAST if filters.is_descending else LAST, output_field=FloatField())
    return scores.annotate(key=Coalesce(F(filters.column), nothing))


def cursor_of(score: Score, filters: TrialFilters) -> Cursor:
    key = getattr(score, filters.column)
    if key is None:
        key = -LAST if filters.is_descending else LAST
    return Cursor(float(key), score.position)


def list_scores(
    run: Run, filters: TrialFilters, after: Cursor | None = None, before: Cursor | None = None
) -> TrialPage:
    """One page of the table."""
    scores = filter_scores(run, filters).select_related("candidate", "case")
    scores = scores.defer("attempts", "calls", "judging", "answer", "candidate__document")
    scores = _with_key(scores.annotate(answer_start=Left("answer", ANSWER_START)), filters)
    page = read_page(scores, filters.order, PAGE_SIZE, after=after, before=before)
    return TrialPage(
        page.rows,
        previous=cursor_of(page.rows[0], filters) if page.has_previous else None,
        next=cursor_of(page.rows[-1], filters) if page.has_next else None,
    )


def get_trial(run: Run, position: int) -> Score | None:
    scores = run.scores.select_related("candidate", "case", "case__dataset")
    return scores.filter(position=position).first()


def find_candidate(run: Run, key: str) -> int | None:
    """The position of the candidate with a key."""
    return run.candidates.filter(key=key).values_list("position", flat=True).first()


def neighbours(score: Score, filters: TrialFilters) -> Neighbours:
    """The trials before and after this one in the list the person came from."""
    scores = _with_key(filter_scores(score.run, filters), filters)
    here = cursor_of(score, filters)
    previous = filters.order.walk(scores, here, backwards=True).first()
    return Neighbours(previous, filters.order.walk(scores, here).first())


def is_evaluated(score: Score) -> bool:
    """Whether it counts; else its answer was only told to the strategy, and no case was asked."""
    return score.candidate.is_evaluated


def step_calls(score: Score) -> list[records.StepCall]:
    """The calls of a pipeline, in the order in which they began."""
    return [records.StepCall(*row) for row in score.calls or ()]


def judge_calls(score: Score) -> list[records.StepCall]:
    """What scorers asked about the answer, in the order in which they began."""
    return [records.StepCall(*row) for row in (score.judging or {}).get("calls", ())]


def steps_not_run(score: Score) -> list[str]:
    """The steps of a pipeline that a router passed over, or that were not reached."""
    ran = [call.step for call in step_calls(score)]
    names = [step["name"] for step in score.candidate.document.get("steps", ())]
    return [n for n in names if not any(one == n or one.startswith(f"{n}.") for one in ran)]


def case_of(score: Score) -> records.Case:
    """As the scorers saw it: with the expected answer that the run was launched with."""
    return records.Case(score.case.position, score.case.fields, score.run.expected_column)


def rendered_prompt(score: Score) -> list[dict[str, Any]]:
    """The messages as they were sent; a prompt that cannot be filled says why instead."""
    try:
        return messages_of(score.candidate.as_engine, case_of(score))
    except TemplateError as error:
        return [{"role": "error", "content": str(error)}]
