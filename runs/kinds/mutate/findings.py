"""What a mutation found, for gates, commands and files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from runs import formatting
from runs.kinds.base import Findings, RunHere
from runs.kinds.mutate.comparing import failures_of, sentences_of
from runs.kinds.mutate.standing import LAST_UPDATES, Tally, pooled
from runs.reports.plain import one_line
from runs.reports.report import CandidateLine
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.mutate.report import (
    MutationReport,
    OperatorRow,
    PolicyFacts,
    SegmentScore,
    as_record,
    report_of,
)
from workers.engine.records import EVALUATE, Score
from workers.engine.session import Session
from workers.engine.statistics.intervals import Estimate

HEADS = ("operator", "used", "excluded", "reward", "95 % interval", "success")
NUMBERS = ("used", "excluded", "reward", "success")


class MutationFindings(Findings):
    """Its score is the reward of the trained policy on held-out queries; where none are held out,
    that of the last updates."""

    def __init__(self, report: MutationReport, latest: Estimate | None) -> None:
        self.report = report
        trained = report.held_out[0].reward if report.held_out else None
        self.score = trained or latest
        self.value_failures_wrong = None  # a step that failed has no reward, and a zero is one
        self.best = None

    def candidate_lines(self) -> list[CandidateLine]:
        return [CandidateLine(one.name, one.reward, one.failed) for one in self.report.held_out]

    def table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for head in HEADS:
            table.add_column(head, justify="right" if head in NUMBERS else "left")
        for row in self.report.operators:
            table.add_row(*map(Text, cells_of(row)))
        return table

    def lines_below(self) -> list[str]:
        report = self.report
        lines = [
            f"{len(report.updates):,} of {formatting.counted(report.count_updates, 'update')}, "
            f"{formatting.counted(report.transitions, 'transition')}; fallback rate "
            f"{formatting.percent(report.fallback_rate)}: {report.excluded:,} are excluded, never "
            "counted as rewards."
        ]
        failed = failures_of(report.failures)
        lines += [one_line(f"What failed: {', '.join(failed)}.", 200)] if failed else []
        for one in report.held_out:
            if one.reward:
                told = formatting.score_interval(one.reward.low, one.reward.high)
                lines.append(f"Held out, {one.name}: {formatting.score(one.reward.value)} ({told})")
        return [*lines, *sentences_of(report), f"Weights {report.weights}"]

    def as_record(self) -> dict[str, Any]:
        return as_record(self.report)

    def write_file(self, path: Path) -> bool:
        if path.suffix.lower() != ".json":
            return False
        path.write_text(json.dumps(self.as_record(), indent=2), encoding="utf-8")
        return True


def cells_of(row: OperatorRow) -> list[str]:
    reward = row.reward
    return [
        one_line(row.operator, 60),
        f"{row.used:,}",
        f"{row.excluded:,}",
        formatting.score(reward.value if reward else None),
        formatting.score_interval(reward.low, reward.high) if reward else formatting.NOTHING,
        formatting.percent(row.success_rate),
    ]


def findings_here(run: RunHere) -> MutationFindings:
    """Of a run in the process of a command: its policies are those that a replay comes to."""
    configuration = run.configuration
    assert isinstance(configuration, Mutation)  # its kind was asked
    begun = configuration.begin(run.cases)
    session = Session(begun)
    session.replay(len(run.scores), run.scores)
    session.plan(1)  # the last update learns when more is asked for
    policies = [PolicyFacts.read(c.key, c.name, c.role, c.document) for c in begun.candidates]
    segments = [
        SegmentScore(one.trial.candidate, one.trial.case, one.value, one.answer)
        for one in run.scores
    ]
    report = report_of(policies, segments, configuration.options.count_updates)
    keys = [one.key for one in policies if one.role == EVALUATE]
    return MutationFindings(report, pooled(tallies_of(keys, run.scores)[-LAST_UPDATES:]))


def tallies_of(keys: Sequence[str], scores: Sequence[Score]) -> list[Tally]:
    found = []
    for key in keys:
        mine = [one for one in scores if one.trial.candidate == key]
        values = [one.value for one in mine if one.value is not None]
        squares = sum(value * value for value in values)
        found.append(Tally(EVALUATE, len(mine), len(values), sum(values), squares))
    return [one for one in found if one.scored]
