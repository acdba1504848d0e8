"""What a rollout found, for gates, commands and files."""

import json
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from runs.kinds.base import Findings, RunHere
from runs.kinds.rollout.charts import number
from runs.reports.plain import one_line
from runs.reports.report import CandidateLine
from workers.engine.kinds.rollout.report import (
    Finished,
    Plan,
    PolicyRow,
    RolloutReport,
    as_record,
    as_summary,
    report_of,
)
from workers.engine.spec.documents import write_document

HEADS = ("mission", "policy", "return", "95 % interval", "episodes", "failed", "lane")
NUMBERS = {"return", "episodes", "failed"}


class RolloutFindings(Findings):
    """Its score is that of its board: of the best policy over all missions."""

    def __init__(self, report: RolloutReport) -> None:
        self.report = report
        self.score = None
        self.value_failures_wrong = None  # a failed episode has no return, and a zero is one
        self.best = None

    def candidate_lines(self) -> list[CandidateLine]:
        return [
            CandidateLine(f"{row.policy} in {mission.mission}", row.score, row.failed)
            for mission in self.report.missions
            for row in mission.policies
        ]

    def table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for head in HEADS:
            table.add_column(head, justify="right" if head in NUMBERS else "left")
        for mission in self.report.missions:
            for row in mission.policies:
                table.add_row(*map(Text, cells_of(mission.mission, row)))
        return table

    def lines_below(self) -> list[str]:
        pace = self.report.pace
        lines = [f"{pace.episodes:,} episodes, {pace.steps:,} steps."]
        for mission in self.report.missions:
            for row in mission.policies:
                if row.lane:
                    told = f"{mission.mission}, {row.policy}: lane {row.lane.lane}, since "
                    lines.append(one_line(f"{told}{row.lane.reason}.", 200))
                if row.lane and row.lane.warning:
                    lines.append(one_line(f"Warning: {row.lane.warning}.", 200))
        return [*lines, f"Digest {self.report.digest}"]

    def as_record(self) -> dict[str, Any]:
        return as_record(self.report)

    def write_file(self, path: Path) -> bool:
        suffix = path.suffix.lower()
        if suffix not in (".json", ".yaml", ".yml"):
            return False
        document = {**self.as_record(), "summary": as_summary(self.report)}
        text = json.dumps(document, indent=2) if suffix == ".json" else write_document(document)
        path.write_text(text, encoding="utf-8")
        return True


def cells_of(mission: str, row: PolicyRow) -> list[str]:
    score = row.score
    return [
        one_line(mission, 60),
        one_line(row.policy, 60),
        number(score.value) if score else "–",
        f"{number(score.low)} to {number(score.high)}" if score and score.n > 1 else "–",
        f"{row.episodes:,}",
        f"{row.failed:,}",
        row.lane.lane if row.lane else "",
    ]


def findings_here(run: RunHere) -> RolloutFindings:
    """Of a run in the process of a command."""
    configuration = run.configuration
    cases = dict(enumerate(configuration.make_cases() or []))
    plan = Plan(configuration.make_candidates(), cases)
    scores = [
        Finished(
            score.trial.position,
            score.trial.candidate,
            score.trial.case,
            score.value,
            score.error,
            score.answer,
        )
        for score in run.scores
    ]
    return RolloutFindings(report_of(plan, scores))
