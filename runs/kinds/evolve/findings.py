"""What an evolution found, for gates, commands and files."""

from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from runs import formatting
from runs.kinds.base import Findings
from runs.reports.plain import one_line
from runs.reports.report import CandidateLine
from workers.engine.kinds.evolve.report import EvolutionReport, GenomeRow, as_record
from workers.engine.statistics.intervals import Estimate, estimate_mean

MOST_SHOWN = 15
HEADS = ("", "genome", "fitness", "score", "made by", "prompt")


class EvolutionFindings(Findings):
    """Its score is that of the best prompt, on the cases of its last generation."""

    def __init__(self, report: EvolutionReport, seconds: float | None) -> None:
        self.report = report
        self._seconds = seconds
        best = report.best
        self.score = score_of(best) if best else None
        self.value_failures_wrong = best.score_failures_wrong if best else None
        self.best = best.key if best else None

    def candidate_lines(self) -> list[CandidateLine]:
        return [
            CandidateLine(row.name, score_of(row), row.failed) for row in self.report.population
        ]

    def table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for head in HEADS:
            is_number = head in ("fitness", "score")
            table.add_column(head, justify="right" if is_number else "left", overflow="fold")
        for row in self.report.population[:MOST_SHOWN]:
            is_best = row.key == self.best
            table.add_row(*map(Text, cells_of(row, is_best)), style="bold green" if is_best else "")
        return table

    def lines_below(self) -> list[str]:
        report = self.report
        lines = [
            f"{formatting.counted(len(report.generations), report.word)}, "
            f"{formatting.counted(report.evaluations, 'trial')}, of which {report.proposals:,} "
            "asked the writer for a prompt."
        ]
        if report.reason:
            lines.append(f"It ended since {report.reason}.")
        if report.best:
            lines += ["The best prompt:", *report.best.text.splitlines()]
        return lines

    def as_record(self) -> dict[str, Any]:
        return as_record(self.report, self._seconds)

    def write_file(self, path: Path) -> bool:
        return False


def score_of(row: GenomeRow) -> Estimate | None:
    return estimate_mean(row.n, row.value_sum, row.square_sum)


def cells_of(row: GenomeRow, is_best: bool) -> list[str]:
    return [
        ">>>" if is_best else "",
        one_line(row.name, 40),
        formatting.score(row.fitness.total) if row.fitness else "failed",
        formatting.score(row.fitness.accuracy) if row.fitness else "",
        row.made_by,
        one_line(row.text, 120),
    ]
