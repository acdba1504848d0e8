"""What an export holds of every score: the same line for files, the API and commands."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models.fields.json import KeyTransform

from runs.models import Run, Score
from runs.selectors.scores.columns import ScoreLine, score_line
from runs.selectors.scores.overrides import NO_HUMAN, human_columns
from runs.selectors.scores.rows import expected_of, row_of_score
from runs.selectors.scores.score_records import records_of
from runs.selectors.scores.trials import TrialFilters, filter_scores
from workers.engine.records import JUDGE, Judgement

PAGE_ROWS = 200  # an answer may be long, and a page of them is in memory at once
ALL = TrialFilters()


def read_lines(
    run: Run,
    filters: TrialFilters = ALL,
    since: datetime | None = None,
    *,
    with_records: bool = False,
) -> Iterator[ScoreLine]:
    """In the order of the trials. Every page is a query of its own, so that a slow reader holds no
    connection, and may go on in another thread."""
    found = filter_scores(run, filters).select_related("candidate", "case").order_by("position")
    found = found.defer("calls", "judging", "candidate__document", "candidate__latency_bins")
    if JUDGE in run.by_role:  # what judges were asked, beside it, is many times an answer
        found = found.annotate(judge_cost=KeyTransform("cost", KeyTransform("use", "judging")))
    if since is not None:
        found = found.filter(finished__gte=since)
    has_overrides = run.overrides.exists()
    last = -1
    while page := list(found.filter(position__gt=last)[:PAGE_ROWS]):
        said = human_columns(page) if has_overrides else {}
        lines = [stored_line(run, score, said.get(score.pk, NO_HUMAN)) for score in page]
        if with_records:
            add_records(lines, page)
        yield from lines
        last = page[-1].position


def add_records(lines: Sequence[ScoreLine], scores: Sequence[Score]) -> None:
    records = records_of(scores)
    for line, score in zip(lines, scores, strict=True):
        line["record"] = records.get(score.pk)


def stored_line(run: Run, score: Score, human: Mapping[str, Any] = NO_HUMAN) -> ScoreLine:
    return score_line(
        row_of_score(score),
        candidate_name=score.candidate.name,
        fields=score.case.fields,
        expected=expected_of(run, score.case.fields),
        judgements=[Judgement.read(row) for row in score.details],
        judge_cost=getattr(score, "judge_cost", None),
        human=human,
    )
