"""The table of combinations for a terminal: the winner marked, then who saw most."""

from rich.table import Table
from rich.text import Text

from runs import formatting
from runs.reports.plain import one_line
from workers.engine.kinds.select.report import Rival, SelectionReport
from workers.engine.kinds.select.rows import CombinationRow

MOST_SHOWN = 25
HEADS = ("", "combination", "accuracy", "95 %", "n", "failed", "latency", "$ per sample", "status")
TO_THE_RIGHT = {"accuracy", "n", "failed", "latency", "$ per sample"}


def selection_table(report: SelectionReport) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in HEADS:
        justify = "right" if head in TO_THE_RIGHT else "left"
        table.add_column(head, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in report.rows[:MOST_SHOWN]:
        table.add_row(*map(Text, cells_of(row)), style="bold green" if row.is_best else "")
    return table


def cells_of(row: CombinationRow) -> list[str]:
    return [
        ">>>" if row.is_best else "",
        one_line(row.name, 200),
        formatting.score(row.accuracy),
        formatting.score_interval(row.low, row.high),
        f"{row.n:,}",
        f"{row.failed:,}",
        formatting.milliseconds(row.latency_ms),
        formatting.dollars(row.dollars_per_sample),
        status_of(row),
    ]


def status_of(row: CombinationRow) -> str:
    if row.is_best:
        return "chosen"
    if row.eliminated_in is not None:
        return f"given up in round {row.eliminated_in}"
    return "on the front" if row.on_front else "" if row.n else "not tried"


def lines_below(report: SelectionReport) -> list[str]:
    more = len(report.rows) - MOST_SHOWN
    lines = [f"{more:,} more: --json and --export FILE.csv show all of them."] if more > 0 else []
    lines.append(
        f"{report.strategy} needed {report.evaluations:,} of {report.brute_force:,} evaluations, "
        f"{formatting.percent(report.saved_share)} fewer than trying everything"
        f"{price_text(report)}."
    )
    if report.ignores_price:
        lines.append("The price did not count: of some models it is not known.")
    return lines + [rival_text(rival, len(report.rivals)) for rival in report.rivals[:1]]


def price_text(report: SelectionReport) -> str:
    if report.dollars is None or report.brute_force_dollars is None:
        return ""
    spent, whole = map(formatting.dollars, (report.dollars, report.brute_force_dollars))
    return f", and cost {spent} instead of about {whole}"


def rival_text(rival: Rival, rivals: int) -> str:
    more = f" and {formatting.counted(rivals - 1, 'other')}" if rivals > 1 else ""
    cases = formatting.counted(rival.n, "case")
    word = "better" if rival.gap > 0 else "worse"
    is_equal = round(rival.gap, 3) == 0
    gap = "they are equal" if is_equal else f"the winner is {word} by {abs(rival.gap):.3f}"
    return (
        f"The winner is not separable from {one_line(rival.name, 200)}{more}: on the same {cases} "
        f"{gap} (95 % interval of the difference {rival.low:+.3f} to {rival.high:+.3f})."
    )
