"""The nine invariants of every fault: what must hold when a run is over, whatever happened to it.

The judges are the database, asked in SQL, and the provider's own ledger; never the workers' word.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

from tests.harness.site import SiteInParts
from tests.harness.visitor import Shown

if TYPE_CHECKING:
    from tests.faults.stage import Act

TABLE = """
    SELECT score.position, candidate.position, place.position, score.repeat, score.value,
           score.error_class, score.answer
    FROM runs_score AS score
    JOIN runs_candidate AS candidate ON score.candidate_id = candidate.id
    JOIN runs_case AS place ON score.case_id = place.id
    WHERE score.run_id = {run} ORDER BY score.position
"""
COUNTS = "SELECT done, failed, scored, cached, tokens_in, tokens_out FROM"
ADDED_UP = """
    SELECT count(*), sum(CASE WHEN error_class <> '' THEN 1 ELSE 0 END), count(value),
           sum(CASE WHEN cached AND error_class = '' THEN 1 ELSE 0 END),
           coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0)
    FROM runs_score WHERE run_id = {run}
"""
SAMPLED = "SELECT sum(fresh + cached + failed) FROM runs_runsample WHERE run_id = {run}"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
LEDGER_PAGE = 10_000
KEPT_SECRET = "keys"  # a folder that holds secrets by design


@dataclass
class Bounds:
    """What a row promises beyond what holds for all."""

    slots: int
    wasted: int | None = None  # calls whose body the provider had seen before; None: not counted
    cut_after: float | None = None  # seconds after which we cut a call; the provider sees it later
    cut_faults: tuple[str, ...] = ()  # the same for calls that met these, whenever we cut them
    retried: int = 0  # trials that a person had asked again: the chart shows both times
    same_table: bool = True  # as the undisturbed run's
    state: tuple[str, ...] = ("completed",)


def table_hash(site: SiteInParts, run: int) -> str:
    whole = hashlib.sha256()
    for row in site.database.rows(TABLE.format(run=run)):
        whole.update(json.dumps(list(row)).encode())
    return whole.hexdigest()


def check_run(act: Act, bounds: Bounds) -> None:
    """Of a run that is over, all but I4, which rows about rates check, and I7: the time is the one
    who waits' to tell."""
    allowed = " or ".join(bounds.state)
    is_right = act.state in bounds.state
    act.stage.expect(is_right, f"I1: the run is {act.state} ({act.reason}), not {allowed}")
    check_rows(act)
    if bounds.same_table and act.reference:
        is_same = table_hash(act.site, act.run) == act.reference
        act.stage.expect(is_same, "I2: the results differ from the undisturbed run's")
    check_ledger(act, bounds)
    check_counters(act, bounds.retried)
    check_secrets(act)
    check_page(act)


def check_rows(act: Act) -> None:
    """I1: one row per trial. The database forbids doubles; that is checked, not believed."""
    database, stage = act.site.database, act.stage
    planned = database.one(f"SELECT planned FROM runs_run WHERE id = {act.run}")
    places = [row[0] for row in database.rows(TABLE.format(run=act.run))]
    stage.figure("trials", planned)
    stage.figure("missing", planned - len(set(places)), most=0)
    stage.figure("doubled", len(places) - len(set(places)), most=0)
    is_looked_for = bool(act.events("reopened"))
    stage.expect(not is_looked_for, "I1: trials were missing at the end, and only then looked for")


def check_ledger(act: Act, bounds: Bounds) -> None:
    """I3 and I6, as the provider saw them."""
    ledger = act.site.simulator.ledger()
    act.stage.figure("calls", ledger["total"])
    peak = ledger["peak_in_flight"]
    if bounds.cut_after is not None or bounds.cut_faults:
        rows = [row for row in read_ledger(act.site) if row["fault"] not in bounds.cut_faults]
        peak = peak_until_cut(rows, bounds.cut_after or inf)
    act.stage.figure("peak_in_flight", peak, most=bounds.slots)
    if bounds.wasted is not None:
        act.stage.figure("wasted_calls", ledger["duplicates"]["extra_calls"], most=bounds.wasted)


def peak_until_cut(rows: list[dict[str, Any]], cut_after: float) -> int:
    """The most calls at once, where a call counts no longer than until we cut it."""
    moves = [(row["arrival"], 1) for row in rows]
    moves += [(min(row["end"], row["arrival"] + cut_after), -1) for row in rows]
    most = flying = 0
    for _, move in sorted(moves):
        flying += move
        most = max(most, flying)
    return most


def busiest(arrivals: list[float], seconds: float, weights: list[int]) -> int:
    """The most that arrivals in any window of this length weigh."""
    most = oldest = inside = 0
    for newest, moment in enumerate(arrivals):
        inside += weights[newest]
        while arrivals[oldest] <= moment - seconds:
            inside -= weights[oldest]
            oldest += 1
        most = max(most, inside)
    return most


def read_ledger(site: SiteInParts) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while page := site.simulator.requests(after=len(rows) - 1, limit=LEDGER_PAGE):
        rows += page
    return rows


def longest_gap(site: SiteInParts) -> float:
    """The longest time without a new call, as the provider saw it."""
    arrivals: list[float] = [row["arrival"] for row in read_ledger(site)]
    return max(later - earlier for earlier, later in pairwise(arrivals))


def check_counters(act: Act, retried: int = 0) -> None:
    """I5: what pages show equals what a query over the scores says."""
    database, expect = act.site.database, act.stage.expect
    added = [int(value or 0) for value in database.rows(ADDED_UP.format(run=act.run))[0]]
    counted = list(database.rows(f"{COUNTS} runs_run WHERE id = {act.run}")[0])
    expect(counted == added, f"I5: the run counts {counted}, its scores are {added}")
    rows = database.rows(f"{COUNTS} runs_candidate WHERE run_id = {act.run}")
    summed = [sum(column) for column in zip(*rows, strict=True)]
    expect(summed == added, f"I5: the candidates count {summed}, the scores are {added}")
    sampled, ended = database.one(SAMPLED.format(run=act.run)) or 0, added[0] + retried
    expect(sampled == ended, f"I5: the chart adds up to {sampled}, not {ended}")


def check_secrets(act: Act) -> None:
    """I8: the endpoints' key is in no row, log or file of Redis."""
    site, expect = act.site, act.stage.expect
    key = site.key.encode()
    for path in site.folder.rglob("*"):
        if path.is_file() and KEPT_SECRET not in path.relative_to(site.folder).parts:
            with suppress(FileNotFoundError):  # a journal, gone meanwhile
                expect(key not in path.read_bytes(), f"I8: the key is in {path.name}")
    if site.postgres:
        for (table,) in site.database.rows(TABLES):
            rows = str(site.database.rows(f"SELECT * FROM {table}"))
            expect(site.key not in rows, f"I8: the key is in the table {table}")


def check_page(act: Act) -> None:
    """I9: a page loaded now, and a socket opened now, say what the database says."""
    state, done, planned, failed = act.site.database.rows(
        f"SELECT state, done, planned, failed FROM runs_run WHERE id = {act.run}"
    )[0]
    label = state.replace("_", " ").capitalize()
    stored = Shown(label, f"{done:,} of {planned:,} trials", failed)
    visitor = act.site.visitor
    for place, look in (("page", visitor.read_page), ("socket", visitor.read_socket)):
        shown = look(act.run)
        act.stage.expect(shown == stored, f"I9: the {place} says {shown}, the database {stored}")
