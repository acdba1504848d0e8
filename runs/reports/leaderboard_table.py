"""The candidates of an evaluation for a terminal, the best first, and what went wrong."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from runs import formatting
from runs.reports.plain import one_line
from runs.reports.report import CandidateLine, Report
from runs.selectors.runs.errors import advice_for

MOST_SHOWN = 25
FIGURES = ("n", "failed", "latency p50", "$ per 1k")


def leaderboard_table(lines: Sequence[CandidateLine]) -> Table:
    """Columns that are empty in every line are left out."""
    k = repeats_of(lines)
    scored = ("score", "95 %", *(["to the best"] if has_differences(lines) else []))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("candidate", overflow="fold")
    for head in (*scored, *(repeat_heads(k) if k else ()), *FIGURES):
        table.add_column(head, justify="right", overflow="fold")
    for place, line in enumerate(lines[:MOST_SHOWN]):
        is_best = place == 0 and line.score is not None
        cells = cells_of(line, has_best=len(scored) > 2, has_repeats=bool(k))
        table.add_row(*map(Text, cells), style="bold green" if is_best else "")
    return table


def cells_of(line: CandidateLine, *, has_best: bool, has_repeats: bool) -> list[str]:
    score = line.score
    return [
        one_line(line.name, 200),
        formatting.score(score.value if score else None),
        formatting.score_interval(score.low, score.high) if score else formatting.NOTHING,
        *([versus_text(line)] if has_best else []),
        *(repeat_cells(line) if has_repeats else []),
        f"{score.n:,}" if score else "0",
        f"{line.failed:,}",
        formatting.milliseconds(line.latency_p50),
        cost_text(line),
    ]


def has_differences(lines: Sequence[CandidateLine]) -> bool:
    return any(line.versus_best for line in lines)


def repeats_of(lines: Sequence[CandidateLine]) -> int | None:
    """The k of the columns of repeats. None: nothing was repeated."""
    return next((line.repeats.k for line in lines if line.repeats), None)


def repeat_heads(k: int) -> tuple[str, ...]:
    return ("majority", f"pass@{k}", f"pass^{k}")


def repeat_cells(line: CandidateLine) -> list[str]:
    found = line.repeats
    if found is None:
        return [formatting.NOTHING] * 3
    return [formatting.score(v) for v in (found.majority, found.pass_at_k, found.pass_hat_k)]


def versus_text(line: CandidateLine) -> str:
    """−0.034, and a ~ where chance may have made it."""
    found = line.versus_best
    if found is None:
        return formatting.NOTHING
    return f"{'' if found.is_separable else '~'}{formatting.signed(found.difference.mean)}"


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
    lines += filter(None, [report.confirmation_text])
    lines += separation_lines(report.candidates)
    lines += map(one_line, report.role_texts)
    for name, count in report.errors.items():
        trials = formatting.counted(count, "trial")
        lines.append(f"{trials} failed with {one_line(name)}. {advice_for(name)}")
    return lines


def separation_lines(lines: Sequence[CandidateLine]) -> list[str]:
    """Who may be as good as the best, and how many cases would tell."""
    close = [line for line in lines if line.versus_best and not line.versus_best.is_separable]
    if not close or not close[0].versus_best:
        return []
    first = close[0].versus_best
    others = f" and {formatting.counted(len(close) - 1, 'other')}" if len(close) > 1 else ""
    cases = formatting.counted(first.difference.cases, "case")
    told = (
        f"~ not separable from the best: {one_line(close[0].name, 200)}{others}, by the paired "
        f"test on the same {cases} (p = {first.p:.2g}, corrected for many candidates)."
    )
    if first.more_cases:
        told += f" About {formatting.about(first.more_cases)} more cases would separate them."
    return [told]
