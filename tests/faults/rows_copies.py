"""Rows 43 to 45: an upgrade, a clean-up and a copy of a site in the middle of a run."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import closing

from tests.faults.cluster import Cluster, new_postgres
from tests.faults.rows_redis import longest_gap
from tests.faults.stage import Act, Load, Stage
from tests.postgres import PostgresServer

SHORT = Load(trials=240, latency_ms=100, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)


def upgrade_while_paused(stage: Stage) -> None:
    """Row 43: everything is stopped, the tables of the version before become those of this one."""
    cluster = stage.cluster
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.4)
    cluster.person.ask("pause", run=act.run)
    act.wait_for(lambda: cluster.truth.state(act.run) == "paused", 30, "the pause")
    for worker in cluster.workers:
        stage.nemesis.term(worker)
        worker.wait(40)
    cluster.manage("migrate", "runs", cluster.person.ask("migration_before_last"), "-v", "0")
    cluster.manage("migrate", "-v", "0")
    for worker in cluster.workers:
        worker.start_again()
        worker.wait_ready()
    cluster.person.ask("resume", run=act.run)
    act.finish(120)
    act.check(wasted=0)


def clean_up_beside(stage: Stage) -> None:
    """Row 44: all runs that have ended and all cached answers are removed beside a live run."""
    cluster = stage.cluster
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    ended = cluster.truth.count("runs_run", "ended IS NOT NULL")
    cluster.manage("prune_runs", "--older-than-days", "0", "--yes")
    cluster.manage("prune_cache", "--older-than-days", "0", "--yes")
    left = cluster.truth.count("runs_run", f"ended IS NOT NULL AND id <> {act.run}")
    stage.verdict.at_least("runs_removed", ended - left, 1)
    act.finish(120)
    stage.verdict.figure("gap_seconds", longest_gap(act), most=stage.bar(5))
    act.check(wasted=0)


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
    stage.cluster.person.ask("cancel", run=act.run)
