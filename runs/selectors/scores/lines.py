"""What an export holds of every score: the same line for files, the API and commands."""

from collections.abc import Iterator
from datetime import datetime

from runs.models import Run, Score
from runs.selectors.scores.columns import ScoreLine, score_line
from runs.selectors.scores.rows import expected_of, row_of_score
from runs.selectors.scores.trials import TrialFilters, filter_scores
from workers.engine.records import Judgement

PAGE_ROWS = 200  # an answer may be long, and a page of them is in memory at once
ALL = TrialFilters()


def read_lines(
    run: Run, filters: TrialFilters = ALL, since: datetime | None = None
) -> Iterator[ScoreLine]:
    """In the order of the trials. Every page is a query of its own, so that a slow reader holds no
    connection, and may go on in another thread."""
    found = filter_scores(run, filters).select_related("candidate", "case").order_by("position")
    found = found.defer("calls", "candidate__document", "candidate__latency_bins")
    if since is not None:
        found = found.filter(finished__gte=since)
    last = -1
    while page := list(found.filter(position__gt=last)[:PAGE_ROWS]):
        yield from (stored_line(run, score) for score in page)
        last = page[-1].position


def stored_line(run: Run, score: Score) -> ScoreLine:
    return score_line(
        row_of_score(score),
        candidate_name=score.candidate.name,
        fields=score.case.fields,
        expected=expected_of(run, score.case.fields),
        judgements=[Judgement(*row) for row in score.details],
    )
