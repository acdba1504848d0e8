"""The truth, asked in SQL: what the Score rows of a run add up to."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tests.harness.patience import PATIENCE_SECONDS

TOTALS = """
    SELECT count(*) AS done, count(value) AS scored, total(error_class != '') AS failed,
           total(cached) AS cached, total(value) AS value_sum,
           total(value * value) AS value_square_sum
    FROM runs_score WHERE run_id = :run
"""
CANDIDATES = """
    SELECT json_extract(document, '$.prompt.name') AS prompt,
           json_extract(document, '$.model.endpoint') || '/'
               || json_extract(document, '$.model.model') AS model,
           count(score.id) AS done, count(score.value) AS scored,
           total(score.error_class != '') AS failed, total(score.cached) AS cached,
           total(score.value) AS value_sum, total(score.value * score.value) AS value_square_sum,
           candidate.id
    FROM runs_candidate AS candidate
    LEFT JOIN runs_score AS score ON score.candidate_id = candidate.id
    WHERE candidate.run_id = :run GROUP BY candidate.id
"""
MEDIAN_LATENCY = """
    SELECT latency_ms FROM runs_score
    WHERE run_id = :run AND latency_ms IS NOT NULL AND NOT cached
    ORDER BY latency_ms LIMIT 1
    OFFSET (SELECT (count(latency_ms) - 1) / 2 FROM runs_score WHERE run_id = :run AND NOT cached)
"""
RECORD = """
    INSERT INTO runs_scorerecord (score_id, run_id, size, packed)
    SELECT id, run_id, :size, :it FROM runs_score WHERE run_id = :run AND position = :at
"""


class Totals(NamedTuple):
    done: int
    scored: int
    failed: int
    cached: int
    value_sum: float
    value_square_sum: float


class CandidateTotals(NamedTuple):
    prompt: str
    model: str
    totals: Totals
    by_case: list[list[float]]  # the values of its repeats


class Database:
    """Read only but for records, and not through the site's own queries."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._uri = f"{path.as_uri()}?mode=ro"

    def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self._uri, uri=True, timeout=PATIENCE_SECONDS)) as connection:
            return connection.execute(query, values).fetchall()

    def keep_record(self, run: int, position: int, document: bytes) -> None:
        """As a kind of run would that keeps records."""
        values = {"run": run, "at": position, "size": len(document), "it": zlib.compress(document)}
        connected = closing(sqlite3.connect(self._path, timeout=PATIENCE_SECONDS))
        with connected as connection, connection:
            connection.execute(RECORD, values)

    def totals(self, run: int) -> Totals:
        return totals_of(self.rows(TOTALS, run=run)[0])

    def values_by_case(self, run: int, candidate: int | None = None) -> list[list[float]]:
        """All that was scored, by the case that was asked."""
        query = "SELECT case_id, value FROM runs_score WHERE run_id = :run"
        of_one = " AND candidate_id = :candidate"
        rows = self.rows(query + (of_one if candidate else ""), run=run, candidate=candidate)
        by_case: dict[int, list[float]] = {}
        for case, value in rows:
            by_case.setdefault(case, []).extend([] if value is None else [value])
        return list(by_case.values())

    def candidates(self, run: int) -> list[CandidateTotals]:
        rows = self.rows(CANDIDATES, run=run)
        return [
            CandidateTotals(row[0], row[1], totals_of(row[2:-1]), self.values_by_case(run, row[-1]))
            for row in rows
        ]

    def median_latency_ms(self, run: int) -> float | None:
        """Of the calls that were made; None if the cache had every answer."""
        found = self.rows(MEDIAN_LATENCY, run=run)
        return float(found[0][0]) if found else None

    def count(self, table: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])


def totals_of(row: tuple[Any, ...]) -> Totals:
    return Totals(*(int(number) for number in row[:4]), *row[4:])
