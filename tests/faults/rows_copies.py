"""Rows 43 to 45: an upgrade, a clean-up and a copy of a site in the middle of a run."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.faults.cluster import Cluster, new_postgres
from tests.faults.person import Person, Refused
from tests.faults.rows_redis import longest_gap
from tests.faults.stage import Act, Load, Stage
from tests.harness.postgres import PostgresServer

SHORT = Load(trials=240, latency_ms=100, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)
LOCK_SECONDS = 0.2


def upgrade_while_paused(stage: Stage) -> None:
    """Row 43: everything is stopped, the tables of the version before become those of this one."""
    cluster = stage.cluster
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.4)
    act.command("pause")
    act.wait_for(lambda: cluster.truth.state(act.run) == "paused", 30, "the pause")
    for worker in cluster.workers:
        stage.nemesis.term(worker)
        worker.wait(40)
    stage.nemesis.kill(cluster.web)
    cluster.person.ask("undo_newest_migration")
    cluster.manage("migrate", "-v", "0")
    for worker in cluster.workers:
        worker.start_again()
        worker.wait_ready()
    stage.nemesis.start_web()
    act.command("resume")
    act.finish(120)
    act.check(wasted=0)


def clean_up_beside(stage: Stage) -> None:
    """Row 44: all runs that have ended and all cached answers are removed beside a live run."""
    cluster = stage.cluster
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    ended, live = cluster.truth.count("runs_run", "ended IS NOT NULL"), act.done()
    with writing_beside(stage) as waits:
        cluster.manage("prune_runs", "--older-than-days", "0", "--yes")
        cluster.manage("prune_cache", "--older-than-days", "0", "--yes")
    stage.verdict.expect(act.done() >= live, "rows of the live run were removed")
    stage.verdict.at_least("writes_beside", len(waits), 1)
    stage.verdict.figure("lock_seconds", max(waits), most=stage.bar(LOCK_SECONDS))
    left = cluster.truth.count("runs_run", f"ended IS NOT NULL AND id <> {act.run}")
    stage.verdict.at_least("runs_removed", ended - left, 1)
    act.finish(120)
    stage.verdict.figure("gap_seconds", longest_gap(act), most=stage.bar(5))
    act.check(wasted=0)


@contextmanager
def writing_beside(stage: Stage) -> Iterator[list[float]]:
    """Another program takes the write lock again and again; how long it waited each time."""
    waits: list[float] = []
    is_over = threading.Event()

    def write() -> None:
        path = stage.cluster.folder / "evalsite.sqlite3"
        with closing(sqlite3.connect(path, timeout=20, isolation_level=None)) as file:
            while not is_over.wait(0.01):
                began = time.monotonic()
                file.execute("BEGIN IMMEDIATE")
                waits.append(time.monotonic() - began)
                file.execute("ROLLBACK")

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield waits
    finally:
        is_over.set()
        writer.join(30)


def restore_copy(stage: Stage) -> None:
    """Row 45: `manage.py backup` in the middle of a run; another site starts from the copy."""
    cluster = stage.cluster
    act = launch_and_wait(stage)
    copy = cluster.folder.with_name(f"{cluster.folder.name}-copy")
    cluster.manage("backup", str(copy))
    stop_workers(stage)
    with closing(Cluster(cluster.shape, copy, beside=cluster)) as restored:
        finish_elsewhere(stage, act, restored)


def restore_dump(stage: Stage) -> None:
    """Row 45 on PostgreSQL: pg_dump, pg_restore into another server, and the keys."""
    cluster = stage.cluster
    assert cluster.postgres is not None
    act = launch_and_wait(stage)
    copy = cluster.folder.with_name(f"{cluster.folder.name}-copy")
    shutil.copytree(cluster.folder / "keys", copy / "keys")
    dump = copy / "evalsite.dump"
    run_tool(cluster.postgres, "pg_dump", "-Fc", "-f", str(dump), cluster.postgres.url_for())
    stop_workers(stage)
    server = new_postgres()
    run_tool(server, "pg_restore", "-d", server.url_for(), str(dump))
    with closing(Cluster(cluster.shape, copy, beside=cluster, postgres=server)) as restored:
        finish_elsewhere(stage, act, restored)


def run_tool(server: PostgresServer, name: str, *arguments: str) -> None:
    subprocess.run([server.binaries / name, *arguments], check=True)


def launch_and_wait(stage: Stage) -> Act:
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.4)
    act.wait_for(lambda: act.done() > 0, 30, "results to copy")
    return act


def stop_workers(stage: Stage) -> None:
    """The site that was copied is gone."""
    for worker in stage.cluster.workers:
        stage.nemesis.kill(worker)


def finish_elsewhere(stage: Stage, act: Act, restored: Cluster) -> None:
    """Nobody does anything there: the run goes on by itself."""
    elsewhere = Stage(restored, 0, is_full=stage.is_full)
    elsewhere.verdict = stage.verdict
    there = Act(elsewhere, act.run, act.load, act.reference, act.endpoint)
    there.finish(120)
    there.check()
    check_key_file(stage, act, restored)
    act.command("cancel")


def check_key_file(stage: Stage, act: Act, restored: Cluster) -> None:
    """What is stored opens the endpoint's key with the key files, and with nothing else."""
    opened = restored.person.ask("read_key", name=act.endpoint)
    stage.verdict.expect(opened == restored.key, "the copy cannot read its keys")
    (restored.folder / "keys").rename(restored.folder / "keys-elsewhere")
    with closing(Person(restored.env)) as stranger:
        try:
            found = stranger.ask("read_key", name=act.endpoint)
        except Refused:
            found = ""
    stage.verdict.expect(found == "", "the key was read without its key file")
