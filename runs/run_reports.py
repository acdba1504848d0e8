"""The report of a stored run, and the files that it can be had as: for pages, API and commands."""

import tempfile
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any, Literal, NamedTuple

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

from runs.models import Run
from runs.reports.html import MOST_WORST, write_html
from runs.reports.junit import write_junit
from runs.reports.markdown import write_markdown
from runs.reports.parquet import write_parquet
from runs.reports.report import CandidateLine, Report
from runs.reports.score_files import in_threads, send_scores
from runs.selectors.comparing.comparison import compare_sides
from runs.selectors.comparing.sides import Side, side_of
from runs.selectors.gates import NO_GATES, judge_run
from runs.selectors.runs.leaderboard import LeaderboardRow, leaderboard
from runs.selectors.runs.outcome import count_errors
from runs.selectors.runs.ran_on import ran_on
from runs.selectors.runs.trial_roles import role_lines
from runs.selectors.scores.lines import read_lines
from runs.selectors.scores.trials import TrialFilters
from runs.selectors.scores.worst_cases import worst_cases
from workers.engine.statistics.gates import Gates
from workers.engine.statistics.intervals import Estimate

ScoreFormat = Literal["csv", "jsonl", "parquet"]
BLOCK = 64 * 1024  # bytes sent at once
PARQUET = "application/vnd.apache.parquet"


def report_of_run(run: Run, gates: Gates = NO_GATES, baseline: Run | None = None) -> Report:
    judged = judge_run(run, gates, baseline)
    found = judged.found
    return Report(
        run_id=run.pk,
        name=run.name,
        state=run.state,
        outcome=judged.outcome,
        cached=run.cached,
        seconds=run.running_seconds(timezone.now()),
        checks=judged.checks,
        candidates=found.candidate_lines() if found else list(map(line_of, leaderboard(run))),
        errors=count_errors(run),
        roles=role_lines(run),
        comparison=judged.comparison,
        findings=found,
        ran_on=ran_on(run),
        confirmation=judged.confirmation,
    )


def line_of(row: LeaderboardRow) -> CandidateLine:
    score = None
    if row.value is not None and row.low is not None and row.high is not None:
        score = Estimate(row.value, row.low, row.high, row.n)
    return CandidateLine(
        row.name,
        score,
        row.failed,
        row.latency_p50,
        row.cost_per_thousand,
        row.versus_best,
        row.repeats,
    )


def compare_with(baseline: Run | None, side: Side | None) -> Any:
    return compare_sides(side_of(baseline), side) if baseline and side else None


def html_of(run: Run) -> str:
    return write_html(report_of_run(run), run.document, worst_cases(run, MOST_WORST))


class ReportFile(NamedTuple):
    name: str
    media_type: str

    def write(self, run: Run) -> str:
        if self.name == "report.html":
            return html_of(run)
        report = report_of_run(run)
        return write_markdown(report) if self.name == "report.md" else write_junit(report)


REPORT_FILES = {
    file.name: file
    for file in (
        ReportFile("report.html", "text/html"),
        ReportFile("report.md", "text/markdown"),
        ReportFile("junit.xml", "application/xml"),
    )
}


def send_run_scores(
    request: HttpRequest,
    run: Run,
    form: ScoreFormat,
    filters: TrialFilters,
    since: datetime | None = None,
    *,
    with_records: bool = False,
) -> StreamingHttpResponse:
    if form != "parquet":
        return send_scores(request, run, form, filters, since, with_records=with_records)
    # Through a file of the system: the end of a Parquet file says where its parts are.
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it was sent
    lines = read_lines(run, filters, since, with_records=with_records)
    write_parquet(file, lines, with_records=with_records)
    blocks = blocks_in(file)
    return StreamingHttpResponse(
        in_threads(blocks) if isinstance(request, ASGIRequest) else blocks,
        content_type=PARQUET,
        headers={
            "Content-Disposition": f'attachment; filename="run-{run.pk}-scores.parquet"',
            "Content-Length": str(file.tell()),
        },
    )


def blocks_in(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        yield from iter(lambda: file.read(BLOCK), b"")
