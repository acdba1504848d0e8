"""The scores table and the trial page: filters, sorting and pages of a run's scores."""

import json
import math
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import F, FloatField, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Left

from runs.models import Case, Run, Score
from runs.selectors.paging import Order, read_page
from runs.selectors.scores.overrides import flags
from workers.engine import records
from workers.engine.records import EVALUATE

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
    "flagged": "Flagged",
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
    "flagged": Q(pk__in=flags().values("score")),
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
    cases: tuple[int, ...] = ()  # their rows in the dataset; empty: all
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
        return filled + bool(self.text) + bool(self.role) + bool(self.cases)

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
    if filters.candidate is not None:
        found = found.filter(candidate__position=filters.candidate, candidate__run=run)
    if filters.cases:
        found = found.filter(_is_of_cases(run, filters.cases))
    role = filters.wanted_role
    if role and (role != EVALUATE or run.told("done")):  # no join where all are evaluations
        found = found.filter(candidate__role=role)
    return found.filter(asked_of_a_try(filters))


def asked_of_a_try(filters: TrialFilters) -> Q:
    """What differs between the repeats of a candidate on a case."""
    asked = _STATUS_QUERIES.get(filters.status, Q())
    if filters.error:
        asked &= Q(error_class=filters.error)
    if filters.score_min is not None:
        asked &= Q(value__gte=filters.score_min)
    if filters.score_max is not None:
        asked &= Q(value__lte=filters.score_max)
    if len(filters.text) >= SHORTEST_SEARCH:
        asked &= _mentions(filters.text)
    return asked


def _is_of_cases(run: Run, positions: tuple[int, ...]) -> Q:
    # All candidates are named, so that the index over candidate and case is used.
    cases = Case.objects.filter(dataset=run.dataset_id, position__in=positions)
    return Q(candidate__in=run.candidates.values("pk"), case__in=cases.values("pk"))


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
    return page_of(with_texts(filter_scores(run, filters)), filters, after, before)


def with_texts(scores: QuerySet[Score]) -> QuerySet[Score]:
    """What a row of the table shows; of an answer its beginning."""
    scores = scores.select_related("candidate", "case")
    scores = scores.defer("attempts", "calls", "judging", "answer", "candidate__document")
    return scores.annotate(answer_start=Left("answer", ANSWER_START))


def page_of(
    scores: QuerySet[Score], filters: TrialFilters, after: Cursor | None, before: Cursor | None
) -> TrialPage:
    sorted_by = _with_key(scores, filters)
    page = read_page(sorted_by, filters.order, PAGE_SIZE, after=after, before=before)
    return TrialPage(
        page.rows,
        previous=cursor_of(page.rows[0], filters) if page.has_previous else None,
        next=cursor_of(page.rows[-1], filters) if page.has_next else None,
    )


def get_trial(run: Run, position: int) -> Score | None:
    scores = run.scores.select_related("candidate", "case", "case__dataset")
    return scores.filter(position=position).first()


def only_trial(run: Run, filters: TrialFilters) -> Score | None:
    """The one that matches; None if several do, or none."""
    found = filter_scores(run, filters)[:2]
    return found[0] if len(found) == 1 else None


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
    return score.candidate.is_judged


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
