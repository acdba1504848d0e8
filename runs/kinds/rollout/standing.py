"""What a rollout has come to: from the scores that are stored, at any time."""

import json
from collections.abc import Mapping
from threading import Lock
from typing import Any

from runs.kinds.warm import Warm, standing_of
from runs.models import Run
from runs.selectors.case_sources import positions_of
from workers.engine.kinds.rollout.report import (
    EpisodeRow,
    Finished,
    Plan,
    RolloutReport,
    as_record,
    as_summary,
    report_rows,
    rows_of,
)
from workers.engine.spec.documents import write_document

FIELDS = ("position", "candidate__key", "case__position", "value", "error_class", "answer")


def rollout_of(run: Run) -> RolloutReport:
    return _reports.of(run)


def make_report(run: Run) -> RolloutReport:
    plan, rows = _plans.of(run), _rows.of(run)
    rows.read_on(run, plan)
    return report_rows(plan, rows.found)


def plan_of(run: Run) -> Plan:
    """What is to be played. It does not change while a run goes on."""
    candidates = [one.as_engine for one in run.candidates.order_by("position")]
    return Plan(candidates, fields_of(run))


_reports = Warm(make_report, standing_of)
_plans = Warm(plan_of)


class Rows:
    """The episodes that have ended, each read once: of thousands, reading takes most of the time
    that a page takes."""

    def __init__(self, run: Run) -> None:
        self.found: list[EpisodeRow] = []
        self._last = 0  # key of the newest score that was read
        self._count = 0
        self._lock = Lock()  # web processes answer in threads

    def read_on(self, run: Run, plan: Plan) -> None:
        """What came since. A score that is not there any more, as of a failed episode that is
        played again, lets all be read anew."""
        with self._lock:
            fresh = self._read(run, self._last)
            if self._count + len(fresh) != run.scores.count():
                self.found, self._last, self._count = [], 0, 0
                fresh = self._read(run, 0)
            self.found = [*self.found, *rows_of(plan, [score for _, score in fresh])]
            self._count += len(fresh)
            self._last = max((pk for pk, _ in fresh), default=self._last)

    def _read(self, run: Run, after: int) -> list[tuple[int, Finished]]:
        rows = run.scores.filter(pk__gt=after).order_by("pk").values_list("pk", *FIELDS)
        return [(pk, Finished(*rest)) for pk, *rest in rows.iterator(chunk_size=2000)]


_rows = Warm(Rows)


def fields_of(run: Run) -> dict[int, Mapping[str, str]]:
    taken = set(positions_of(run))
    rows = run.dataset.cases.values_list("position", "fields")
    return {position: fields for position, fields in rows if position in taken}


def record_of(run: Run) -> dict[str, Any]:
    return as_record(rollout_of(run))


def write_board(run: Run) -> str:
    return json.dumps(record_of(run), indent=2, ensure_ascii=False)


def write_summary_json(run: Run) -> str:
    return json.dumps(as_summary(rollout_of(run)), indent=2, ensure_ascii=False)


def write_summary_yaml(run: Run) -> str:
    return write_document(as_summary(rollout_of(run)))
