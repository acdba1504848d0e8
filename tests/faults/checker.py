"""The nine invariants of every fault: what must hold when a run is over, whatever happened to it.

The judges are the database, asked in SQL, and the provider's own ledger; never the workers' word.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

from tests.faults.cluster import Cluster
from tests.faults.visitor import Shown

TABLE = """
    SELECT score.position, candidate.position, place.position, score.repeat, score.value,
           score.error_class, score.answer
    FROM runs_score AS score
    JOIN runs_candidate AS candidate ON score.candidate_id = candidate.id
    JOIN runs_case AS place ON score.case_id = place.id
    WHERE score.run_id = {run} ORDER BY score.position
"""
COUNTED = ("done", "failed", "scored", "cached", "tokens_in", "tokens_out")
COUNTS = f"SELECT {', '.join(COUNTED)} FROM"
ADDED_UP = """
    SELECT count(*), sum(CASE WHEN error_class <> '' THEN 1 ELSE 0 END), count(value),
           sum(CASE WHEN cached AND error_class = '' THEN 1 ELSE 0 END),
           coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0)
    FROM runs_score WHERE run_id = {run}
"""
RATE_WINDOW_SECONDS = 10.0  # runs here are shorter than a minute: the rate must hold in less
SECONDS_PER_MINUTE = 60.0
LEDGER_PAGE = 10_000
KEPT_SECRET = ("keys",)  # folders that hold secrets by design


@dataclass
class Bounds:
    """What a row promises beyond what holds for all."""

    slots: int
    wasted: int | None = None  # calls whose body the provider had seen before; None: not counted
    requests_per_minute: int | None = None
    cut_after: float | None = None  # seconds after which we cut a call; the provider sees it later
    cut_faults: tuple[str, ...] = ()  # the same for calls that met these, whenever we cut them
    late_seconds: float = 0.0  # a busy machine delivers calls this much later than they were let go
    retried: int = 0  # trials that a person had asked again: the chart shows both times
    same_table: bool = True  # as the undisturbed run's
    state: tuple[str, ...] = ("completed",)


@dataclass
class Verdict:
    figures: dict[str, Any] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.violations.append(what)

    def figure(self, name: str, value: float, most: float | None = None) -> None:
        """A number for the report, and its bar if it has one."""
        self.figures[name] = round(value, 2)
        if most is not None:
            self.expect(value <= most, f"{name} is {value:.2f}, more than {most}")

    def at_least(self, name: str, value: float, least: float) -> None:
        self.figures[name] = round(value, 2)
        self.expect(value >= least, f"{name} is {value:.2f}, less than {least}")


def table_hash(cluster: Cluster, run: int) -> str:
    whole = hashlib.sha256()
    for row in cluster.truth.rows(TABLE.format(run=run)):
        whole.update(json.dumps(list(row)).encode())
    return whole.hexdigest()


def check_run(
    cluster: Cluster, run: int, bounds: Bounds, verdict: Verdict, reference: str = ""
) -> None:
    """I1 to I6, I8 and I9 of a run that is over. I7, the time, is the one who waits' to tell."""
    check_state(cluster, run, bounds, verdict)
    check_rows(cluster, run, verdict)
    if bounds.same_table and reference:
        is_same = table_hash(cluster, run) == reference
        verdict.expect(is_same, "I2: the results differ from the undisturbed run's")
    check_ledger(cluster, bounds, verdict)
    check_counters(cluster, run, verdict, bounds.retried)
    check_secrets(cluster, verdict)
    check_page(cluster, run, verdict)


def check_state(cluster: Cluster, run: int, bounds: Bounds, verdict: Verdict) -> None:
    state, reason = cluster.truth.rows(f"SELECT state, reason FROM runs_run WHERE id = {run}")[0]
    allowed = " or ".join(bounds.state)
    verdict.expect(state in bounds.state, f"I1: the run is {state} ({reason}), not {allowed}")


def check_rows(cluster: Cluster, run: int, verdict: Verdict) -> None:
    """I1: one row per trial. The database forbids doubles; that is checked, not believed."""
    planned = cluster.truth.one(f"SELECT planned FROM runs_run WHERE id = {run}")
    places = [row[0] for row in cluster.truth.rows(TABLE.format(run=run))]
    verdict.figure("trials", planned)
    verdict.figure("missing", planned - len(set(places)), most=0)
    verdict.figure("doubled", len(places) - len(set(places)), most=0)
    again = cluster.truth.count("runs_runevent", f"run_id = {run} AND kind = 'reopened'")
    verdict.expect(not again, "I1: trials were missing at the end, and only then looked for")


def check_ledger(cluster: Cluster, bounds: Bounds, verdict: Verdict) -> None:
    """I3, I4 and I6, as the provider saw them."""
    ledger = cluster.simulator.ledger()
    verdict.figure("calls", ledger["total"])
    peak = ledger["peak_in_flight"]
    if bounds.cut_after is not None or bounds.cut_faults:
        rows = [row for row in read_ledger(cluster) if row["fault"] not in bounds.cut_faults]
        peak = peak_until_cut(rows, bounds.cut_after or inf)
    verdict.figure("peak_in_flight", peak, most=bounds.slots)
    if bounds.wasted is not None:
        verdict.figure("wasted_calls", ledger["duplicates"]["extra_calls"], most=bounds.wasted)
    if bounds.requests_per_minute:
        check_rate(cluster, bounds.requests_per_minute, bounds.late_seconds, verdict)


def peak_until_cut(rows: list[dict[str, Any]], cut_after: float) -> int:
    """The most calls at once, where a call counts no longer than until we cut it."""
    moves = [(row["arrival"], 1) for row in rows]
    moves += [(min(row["end"], row["arrival"] + cut_after), -1) for row in rows]
    most = flying = 0
    for _, move in sorted(moves):
        flying += move
        most = max(most, flying)
    return most


def check_rate(cluster: Cluster, per_minute: int, late: float, verdict: Verdict) -> None:
    arrivals = [row["arrival"] for row in read_ledger(cluster)]
    in_minute = busiest(arrivals, SECONDS_PER_MINUTE)
    verdict.figure("most_calls_in_60_s", in_minute, most=per_minute)
    share = per_minute * (RATE_WINDOW_SECONDS + late) / SECONDS_PER_MINUTE
    burst = 2 * max(1, per_minute // 100)  # one that is allowed, one after a loss of memory
    verdict.figure("most_calls_in_10_s", busiest(arrivals, RATE_WINDOW_SECONDS), share + burst)


def busiest(arrivals: list[float], seconds: float, weights: list[int] | None = None) -> int:
    """The most arrivals in any window of this length, or the most that they weigh."""
    weights = weights or [1] * len(arrivals)
    most = oldest = inside = 0
    for newest, moment in enumerate(arrivals):
        inside += weights[newest]
        while arrivals[oldest] <= moment - seconds:
            inside -= weights[oldest]
            oldest += 1
        most = max(most, inside)
    return most


def read_ledger(cluster: Cluster) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while page := cluster.simulator.requests(after=len(rows) - 1, limit=LEDGER_PAGE):
        rows += page
    return rows


def check_counters(cluster: Cluster, run: int, verdict: Verdict, retried: int = 0) -> None:
    """I5: what pages show equals what a query over the scores says."""
    truth = cluster.truth
    added = [int(value or 0) for value in truth.rows(ADDED_UP.format(run=run))[0]]
    counted = list(truth.rows(f"{COUNTS} runs_run WHERE id = {run}")[0])
    verdict.expect(counted == added, f"I5: the run counts {counted}, its scores are {added}")
    rows = truth.rows(f"{COUNTS} runs_candidate WHERE run_id = {run}")
    summed = [sum(column) for column in zip(*rows, strict=True)]
    verdict.expect(summed == added, f"I5: the candidates count {summed}, the scores are {added}")
    sampled = truth.one(
        f"SELECT coalesce(sum(fresh + cached + failed), 0) FROM runs_runsample WHERE run_id = {run}"
    )
    ended = added[0] + retried
    verdict.expect(sampled == ended, f"I5: the chart adds up to {sampled}, not {ended}")


def check_secrets(cluster: Cluster, verdict: Verdict) -> None:
    """I8: the endpoints' key is in no row, log or file of Redis."""
    key = cluster.key.encode()
    for path in cluster.folder.rglob("*"):
        if path.is_file() and not set(path.relative_to(cluster.folder).parts) & set(KEPT_SECRET):
            with suppress(FileNotFoundError):  # a journal, gone meanwhile
                verdict.expect(key not in path.read_bytes(), f"I8: the key is in {path.name}")
    if cluster.postgres:
        for table in cluster.truth.tables():
            rows = str(cluster.truth.rows(f"SELECT * FROM {table}"))
            verdict.expect(cluster.key not in rows, f"I8: the key is in the table {table}")


def check_page(cluster: Cluster, run: int, verdict: Verdict) -> None:
    """I9: a page loaded now, and a socket opened now, say what the database says."""
    state, done, planned, failed = cluster.truth.rows(
        f"SELECT state, done, planned, failed FROM runs_run WHERE id = {run}"
    )[0]
    label = state.replace("_", " ").capitalize()
    stored = Shown(label, f"{done:,} of {planned:,} trials", failed)
    for place, look in (
        ("page", cluster.visitor.read_page),
        ("socket", cluster.visitor.read_socket),
    ):
        shown = look(run)
        verdict.expect(shown == stored, f"I9: the {place} says {shown}, the database {stored}")
