"""From a launched run to its verdict: what `run` and `watch` share."""

from runs.management.gating import Asked, hand_out
from runs.management.voices import Voice
from runs.management.watching import Left, ask_whether_to_cancel, is_interactive, wait_for
from runs.management.where import site_url
from runs.models import Run
from runs.run_reports import report_of_run
from runs.selectors.scores.lines import read_lines


def finish(run: Run, asked: Asked, voice: Voice) -> int:
    """Wait, judge, write; the exit code."""
    try:
        run = wait_for(run, voice, ask_whether_to_cancel if is_interactive() else None)
    except Left as left:
        return left.exit_code
    report = report_of_run(run, asked.gates, asked.baseline)
    lines = read_lines(run, with_records=asked.records)
    hand_out(report, asked, lines, run.document, run)
    voice.done(report, f"{site_url()}{run.get_absolute_url()}")
    return int(report.exit)
