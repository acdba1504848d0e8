"""The candidates of an evaluation for a terminal, the best first, and what went wrong."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from runs import formatting
from runs.reports.plain import one_line
from runs.reports.report import CandidateLine, Report
from runs.selectors.runs.errors import advice_for

MOST_SHOWN = 25
HEADS = ("candidate", "score", "95 %", "n", "failed", "latency p50", "$ per 1k")
TO_THE_RIGHT = HEADS[1:]


def leaderboard_table(lines: Sequence[CandidateLine]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in HEADS:
        justify = "right" if head in TO_THE_RIGHT else "left"
        table.add_column(head, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for place, line in enumerate(lines[:MOST_SHOWN]):
        is_best = place == 0 and line.score is not None
        table.add_row(*map(Text, cells_of(line)), style="bold green" if is_best else "")
    return table


def cells_of(line: CandidateLine) -> list[str]:
    score = line.score
    return [
        one_line(line.name, 200),
        formatting.score(score.value if score else None),
        formatting.score_interval(score.low, score.high) if score else formatting.NOTHING,
        f"{score.n:,}" if score else "0",
        f"{line.failed:,}",
        formatting.milliseconds(line.latency_p50),
        cost_text(line),
    ]


def cost_text(line: CandidateLine) -> str:
    if line.score and line.cost_per_thousand is None:
        return "unknown"
    return formatting.dollars(line.cost_per_thousand)


def lines_below(report: Report) -> list[str]:
    """What the table leaves out, each role's part, and each kind of error with its advice."""
    more = len(report.candidates) - MOST_SHOWN
    lines = []
    if more > 0 and not report.findings:
        lines.append(f"{formatting.counted(more, 'more candidate')}: --json shows all of them.")
    lines += map(one_line, report.role_texts)
    for name, count in report.errors.items():
        trials = formatting.counted(count, "trial")
        lines.append(f"{trials} failed with {one_line(name)}. {advice_for(name)}")
    return lines
