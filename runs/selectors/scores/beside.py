"""What else was answered to the case of a trial: every repeat of its candidate, and the answers of
the best candidates, side by side."""

from typing import NamedTuple

from django.db.models import Case as Choice
from django.db.models import F, FloatField, Q, When
from django.db.models.functions import Cast, Left

from runs.models import Candidate, Score
from workers.engine.records import EVALUATE

MOST_CANDIDATES = 10  # beside each other; more are behind a link
MOST_REPEATS = 20  # of each
ANSWER_START = 1200  # characters of an answer beside others


class AnswerBeside(NamedTuple):
    score: Score
    start: str
    is_shortened: bool
    is_here: bool  # of the trial that the page shows


class CandidateBeside(NamedTuple):
    candidate: Candidate
    answers: list[AnswerBeside]
    is_here: bool


class Beside(NamedTuple):
    columns: list[CandidateBeside]
    candidates: int  # of the run
    has_repeats: bool

    @property
    def left_out(self) -> int:
        return self.candidates - len(self.columns)

    @property
    def is_alone(self) -> bool:
        """Nothing else was answered to this case, and nothing else will be."""
        return self.candidates == 1 and not self.has_repeats


def answers_beside(score: Score) -> Beside:
    """The best candidates by their scores so far, and that of the trial, in this order."""
    shown = best_candidates(score)
    found = Score.objects.filter(run=score.run, case=score.case_id, candidate__in=shown)
    found = found.filter(repeat__lt=MOST_REPEATS) | found.filter(pk=score.pk)
    rows = found.only(
        *("run_id", "position", "candidate_id", "repeat", "value", "passed", "cached"),
        *("error_class", "error_message", "latency_ms", "truncated"),
    ).annotate(start=Left("answer", ANSWER_START + 1))
    by_candidate: dict[int, list[AnswerBeside]] = {one.pk: [] for one in shown}
    known = {one.pk: one for one in shown}
    for row in rows.order_by("candidate", "repeat"):
        row.candidate = known[row.candidate_id]
        by_candidate[row.candidate_id].append(answer_beside(row, score))
    columns = [
        CandidateBeside(one, by_candidate[one.pk], one.pk == score.candidate_id) for one in shown
    ]
    total = score.run.candidates.filter(role=EVALUATE).count()
    return Beside(columns, total, any(len(one.answers) > 1 for one in columns))


def best_candidates(score: Score) -> list[Candidate]:
    own = score.candidate
    value = Choice(
        When(scored__gt=0, then=Cast(F("value_sum"), FloatField()) / F("scored")),
        output_field=FloatField(),
    )
    ranked = score.run.candidates.filter(role=EVALUATE).annotate(mean=value)
    best = ranked.defer("document", "latency_bins").order_by(
        F("mean").desc(nulls_last=True), "position"
    )
    shown = list(best.filter(~Q(pk=own.pk))[: MOST_CANDIDATES - 1])
    own_place = ranked.filter(pk=own.pk).first()
    return sorted([*shown, *([own_place] if own_place else [])], key=rank_of)


def rank_of(candidate: Candidate) -> tuple[float, int]:
    mean = getattr(candidate, "mean", None)  # annotated above
    return (float("inf") if mean is None else -mean, candidate.position)


def answer_beside(row: Score, score: Score) -> AnswerBeside:
    start: str = getattr(row, "start", "")  # annotated above
    is_shortened = len(start) > ANSWER_START
    return AnswerBeside(row, start[:ANSWER_START], is_shortened, row.pk == score.pk)
