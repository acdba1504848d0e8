"""What an export holds of every score: the same line for files, the API and commands."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from runs.models import Run, Score
from runs.selectors.scores.columns import ScoreLine, score_line
from runs.selectors.scores.rows import expected_of, row_of_score
from runs.selectors.scores.score_records import records_of
from runs.selectors.scores.trials import TrialFilters, filter_scores
from workers.engine.records import Judgement

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
    if since is not None:
        found = found.filter(finished__gte=since)
    last = -1
    while page := list(found.filter(position__gt=last)[:PAGE_ROWS]):
        lines = [stored_line(run, score) for score in page]
        if with_records:
            add_records(lines, page)
        yield from lines
        last = page[-1].position


def add_records(lines: Sequence[ScoreLine], scores: Sequence[Score]) -> None:
    records = records_of(scores)
    for line, score in zip(lines, scores, strict=True):
        line["record"] = records.get(score.pk)


def stored_line(run: Run, score: Score) -> ScoreLine:
    return score_line(
        row_of_score(score),
        candidate_name=score.candidate.name,
        fields=score.case.fields,
        expected=expected_of(run, score.case.fields),
        judgements=[Judgement(*row) for row in score.details],
    )
