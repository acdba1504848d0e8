"""Rows 13 to 16: the database is restarted, gone, locked, or has no room left."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

from tests.faults.rows_redis import longest_gap
from tests.faults.stage import Act, Load, Stage

SHORT = Load(trials=300, latency_ms=100, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)


def restart_postgres(stage: Stage) -> None:
    """Row 13: PostgreSQL crashes at half of the work and is started again at once."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.5)
    stage.nemesis.crash_postgres()
    stage.nemesis.start_postgres()
    act.finish(90)
    stage.verdict.figure("gap_seconds", longest_gap(act), most=stage.bar(15))
    act.check(wasted=act.load.slots)
    restart_idle(stage)


def restart_idle(stage: Stage) -> None:
    """Workers that had nothing to do when it happened work afterwards, too."""
    stage.nemesis.crash_postgres()
    stage.nemesis.start_postgres()
    act = stage.launch(Load(trials=30, latency_ms=10, slots=10), is_known=False)
    took = act.wait_for(act.is_over, 60, "a run after an idle restart")
    stage.verdict.figure("run_after_idle_restart_seconds", took)
    is_whole = (stage.cluster.truth.state(act.run), act.done()) == ("completed", 30)
    stage.verdict.expect(is_whole, "the run after an idle restart is not whole")


def lose_postgres(stage: Stage) -> None:
    """Row 14: PostgreSQL is away for longer than a lease. What was paid is not asked again."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.4)
    stage.nemesis.crash_postgres()
    time.sleep(90 if stage.is_full else 10)
    stage.nemesis.start_postgres()
    back = time.monotonic()
    calls = act.calls()
    act.wait_for(lambda: act.calls() > calls or act.is_over(), 60, "calls after the return")
    stage.verdict.figure("resumed_seconds", time.monotonic() - back, most=stage.bar(45))
    act.finish(120)
    act.check(wasted=0)


def lock_sqlite(stage: Stage) -> None:
    """Row 15: another program holds the write lock of the SQLite file for 5 s."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.4)
    path = stage.cluster.folder / "evalsite.sqlite3"
    with closing(sqlite3.connect(path, timeout=20, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(5)
        other.execute("ROLLBACK")
    act.finish(90)
    stage.verdict.figure("gap_seconds", longest_gap(act), most=stage.bar(10))
    act.check(wasted=0)


def fill_disk(stage: Stage) -> None:
    """Row 16: no room is left, for Redis neither. Somebody makes room, and resumes the run."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    truth, ask = stage.cluster.truth, stage.cluster.person.ask
    act.wait_for_share(0.4)
    stage.nemesis.fill_storage()
    began = time.monotonic()
    act.wait_for(lambda: "Storage is full" in ask("troubles"), 20, "the health strip says it")
    act.wait_for(lambda: is_quiet(act), 30, "no more calls")
    calls = act.calls()
    while time.monotonic() < began + 10:
        time.sleep(0.1)
    stage.verdict.figure("calls_without_room", act.calls() - calls, most=0)
    stage.nemesis.free_storage()
    took = act.wait_for(lambda: truth.state(act.run) == "paused", 30, "the pause")
    stage.verdict.figure("paused_seconds", took, most=15)
    reason = truth.one(f"SELECT reason FROM runs_run WHERE id = {act.run}")
    stage.verdict.expect(reason.startswith("Storage is full: make room"), f"it says {reason}")
    act.command("resume")
    act.finish(120)
    health = truth.one("PRAGMA integrity_check")
    stage.verdict.expect(health == "ok", f"the database is damaged: {health}")
    act.check(wasted=0)


def is_quiet(act: Act) -> bool:
    return int(act.cluster.simulator.ledger()["in_flight"]) == 0
