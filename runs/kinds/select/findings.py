"""What a selection found, for gates, commands and files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from runs.kinds.base import Findings, NoFileError
from runs.kinds.select.facts import facts_of
from runs.kinds.select.standing import documents_of, selection_of
from runs.kinds.select.table import lines_below, selection_table
from runs.kinds.select.winner import litellm_of
from runs.models import Run
from runs.reports.report import CandidateLine
from workers.engine.kinds.select.report import SelectionReport
from workers.engine.kinds.select.rows import CombinationRow
from workers.engine.kinds.select.table_csv import csv_of
from workers.engine.spec.documents import write_document


class SelectionFindings(Findings):
    """Failures count as wrong in its score, too."""

    def __init__(self, report: SelectionReport, documents: Mapping[str, Any]) -> None:
        self.report = report
        self._documents = documents
        best = report.best
        self.score = best.estimate if best else None
        self.value_failures_wrong = best.accuracy if best else None
        self.best = best.key if best else None

    def candidate_lines(self) -> list[CandidateLine]:
        """A combination without a sample has no score."""
        return [
            CandidateLine(row.name, row.estimate, row.failed, row.latency_ms, thousand_of(row))
            for row in self.report.rows
        ]

    def table(self) -> Table:
        return selection_table(self.report)

    def lines_below(self) -> list[str]:
        return lines_below(self.report)

    def as_record(self) -> dict[str, Any]:
        return facts_of(self.report).model_dump(exclude={"rounds", "layers"})

    def write_file(self, path: Path) -> bool:
        suffix = path.suffix.lower()
        if suffix == ".jsonl":
            return False
        text = csv_of(self.report.rows) if suffix == ".csv" else self._winner()
        path.write_text(text, encoding="utf-8")
        return True

    def _winner(self) -> str:
        """A file without a winner says so: the command has ended well, and nothing was chosen."""
        try:
            return write_document(litellm_of(self.report.best, self._documents))
        except NoFileError as error:
            return f"# {error}\nmodel_list: []\n"


def thousand_of(row: CombinationRow) -> float | None:
    return None if row.dollars_per_sample is None else 1000 * row.dollars_per_sample


def write_table(run: Run) -> str:
    return csv_of(selection_of(run).rows)


def write_litellm(run: Run) -> str:
    return write_document(litellm_of(selection_of(run).best, documents_of(run)))
