"""The database is restarted, gone, locked, full, upgraded, cleaned up, or copied in mid-run."""

import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing, contextmanager, suppress

import pytest

from runs.secrets import SecretsError
from tests.faults.checker import longest_gap
from tests.faults.stage import Act, Load, wait_for
from tests.harness.postgres import PostgresServer
from tests.harness.site import SiteInParts

SHORT = Load(trials=300, latency_ms=100, slots=10)
SHORT_COPIED = Load(trials=240, latency_ms=100, slots=10)
LOCK_SECONDS = 0.2
BLOCK_BYTES = 64 * 1024
GOES_ON = "goes on by itself, same table; its keys are read only with the key files"


@pytest.mark.row(
    "13",
    "PostgreSQL crashes and is started again",
    "no gap above 15 s; wasted calls at most the slots",
    on="postgres",
    is_short=True,
)
def test_postgresql_crashes(stage):
    act = stage.launch(SHORT, until=0.5)
    stage.site.postgres.crash()
    stage.site.postgres.launch()
    act.finish(90)
    stage.figure("gap_seconds", longest_gap(stage.site), most=stage.bar(15))
    act.check(wasted=act.load.slots)
    restart_idle(stage)


def restart_idle(stage):
    """Workers that had nothing to do when it happened work afterwards, too."""
    stage.site.postgres.crash()
    stage.site.postgres.launch()
    act = stage.launch(Load(trials=30, latency_ms=10, slots=10), None, is_known=False)
    took = wait_for(act.is_over, 60, "a run after an idle restart")
    stage.figure("run_after_idle_restart_seconds", took)
    is_whole = (act.state, act.done()) == ("completed", 30)
    stage.expect(is_whole, "the run after an idle restart is not whole")


@pytest.mark.row("14", "no PostgreSQL for 90 s", "0 wasted calls", on="postgres")
def test_postgresql_is_gone_for_longer_than_a_lease(stage):
    """What was paid is not asked again."""
    act = stage.launch(SHORT, until=0.4)
    stage.site.postgres.crash()
    time.sleep(90 if stage.is_full else 10)  # how long it is away
    stage.site.postgres.launch()
    calls = act.calls()
    resumed = wait_for(lambda: act.calls() > calls or act.is_over(), 60, "calls after the return")
    stage.figure("resumed_seconds", resumed, most=stage.bar(45))
    act.finish(120)
    act.check(wasted=0)


@pytest.mark.row("15", "SQLite locked for 5 s", "0 errors, 0 wasted calls")
def test_another_program_locks_sqlite(stage):
    act = stage.launch(SHORT, until=0.4)
    path = stage.site.folder / "evalsite.sqlite3"
    with closing(sqlite3.connect(path, timeout=20, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(5)  # how long it has the lock
        other.execute("ROLLBACK")
    act.finish(90)
    stage.figure("gap_seconds", longest_gap(stage.site), most=stage.bar(10))
    act.check(wasted=0)


@pytest.mark.row(
    "16",
    "the disk is full for 10 s",
    "says so, pauses, 0 lost, 0 wasted calls; goes on when resumed",
    on="small disk",
)
def test_no_room_is_left(stage):
    """For Redis neither. Somebody makes room, and resumes the run."""
    act = stage.launch(SHORT, until=0.4)
    site = stage.site
    ballast = site.folder / "ballast"
    fill_storage(ballast)
    began = time.monotonic()
    is_told = lambda: "Storage is full" in site.person.ask("troubles")  # noqa: E731
    wait_for(is_told, 20, "the health strip says it")
    wait_for(lambda: site.simulator.ledger()["in_flight"] == 0, 30, "no more calls")
    calls = act.calls()
    time.sleep(max(0.0, began + 10 - time.monotonic()))  # until it was full for so long
    stage.figure("calls_without_room", act.calls() - calls, most=0)
    ballast.unlink()
    took = wait_for(lambda: act.state == "paused", 30, "the pause")
    stage.figure("paused_seconds", took, most=15)
    is_said = act.reason.startswith("Storage is full: make room")
    stage.expect(is_said, f"it says {act.reason}")
    act.command("resume")
    act.finish(120)
    health = site.database.one("PRAGMA integrity_check")
    stage.expect(health == "ok", f"the database is damaged: {health}")
    act.check(wasted=0)


def fill_storage(path):
    """To the last byte."""
    with path.open("wb", buffering=0) as ballast:
        for size in (BLOCK_BYTES, 1):
            with suppress(OSError):
                while ballast.write(bytes(size)):
                    pass


@pytest.mark.row(
    "43",
    "stopped with a paused run, tables of the version before made new",
    "resumed, same table, 0 wasted calls",
)
def test_upgraded_while_paused(stage):
    site = stage.site
    act = stage.launch(SHORT_COPIED, until=0.4)
    act.command("pause")
    wait_for(lambda: act.state == "paused", 30, "the pause")
    for worker in site.workers:
        worker.signal(signal.SIGTERM)
        worker.wait(40)
    site.web.kill()
    site.person.ask("undo_newest_migration")
    site.manage("migrate", "-v", "0")
    site.start_again(*site.workers, site.web)
    act.command("resume")
    act.finish(120)
    act.check(wasted=0)


@pytest.mark.row(
    "44",
    "all ended runs and all cached answers removed beside a live run",
    "same table, 0 live rows removed, 0 wasted calls, no lock above 0.2 s, no gap above 5 s",
)
def test_cleaned_up_beside_a_live_run(stage):
    site, count = stage.site, stage.site.database.count
    act = stage.launch(SHORT_COPIED, until=0.3)
    ended, live = count("runs_run", "ended IS NOT NULL"), act.done()
    with writing_beside(site.folder / "evalsite.sqlite3") as waits:
        site.manage("prune_runs", "--older-than-days", "0", "--yes")
        site.manage("prune_cache", "--older-than-days", "0", "--yes")
    stage.expect(act.done() >= live, "rows of the live run were removed")
    stage.figure("writes_beside", len(waits), least=1)
    stage.figure("lock_seconds", max(waits), most=stage.bar(LOCK_SECONDS))
    left = count("runs_run", f"ended IS NOT NULL AND id <> {act.run}")
    stage.figure("runs_removed", ended - left, least=1)
    act.finish(120)
    stage.figure("gap_seconds", longest_gap(site), most=stage.bar(5))
    act.check(wasted=0)


@contextmanager
def writing_beside(path):
    """Another program takes the write lock again and again; how long it waited each time."""
    waits, is_over = [], threading.Event()

    def write():
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


@pytest.mark.row("45", "a copy of the site in mid-run, started elsewhere", GOES_ON, is_short=True)
def test_a_copy_goes_on_elsewhere(stage):
    """`manage.py backup` in the middle of a run; another site starts from the copy."""
    act, copy = launch_and_wait(stage)
    stage.site.manage("backup", str(copy))
    stop_workers(stage)
    finish_elsewhere(act, copy)


@pytest.mark.row("45b", "the same on PostgreSQL, by pg_dump and pg_restore", GOES_ON, on="postgres")
def test_a_dump_goes_on_elsewhere(stage):
    """Restored into another server, with the keys."""
    act, copy = launch_and_wait(stage)
    server, dump = stage.site.postgres, copy / "evalsite.dump"
    shutil.copytree(stage.site.folder / "keys", copy / "keys")
    tool = server.binaries / "pg_dump"
    subprocess.run([tool, "-Fc", "-f", dump, server.url_for()], check=True)
    stop_workers(stage)
    other = PostgresServer(keeps_commits=True)
    subprocess.run([tool.with_name("pg_restore"), "-d", other.url_for(), dump], check=True)
    finish_elsewhere(act, copy, postgres=other)


def launch_and_wait(stage):
    """A run with results to copy, and where to."""
    act = stage.launch(SHORT_COPIED, until=0.4)
    wait_for(lambda: act.done() > 0, 30, "results to copy")
    return act, stage.site.folder.with_name(f"{stage.site.folder.name}-copy")


def stop_workers(stage):
    """The site that was copied is gone."""
    for worker in stage.site.workers:
        worker.kill()


def finish_elsewhere(act, copy, **options):
    """Nobody does anything there: the run goes on by itself."""
    stage, lease = act.stage, "EVALSITE_LEASE_SECONDS"
    options |= {lease: stage.site.env[lease]} if lease in stage.site.env else {}
    with SiteInParts(copy, beside=stage.site, **options) as restored:
        there = Act(stage, act.run, act.load, act.reference)
        there.site = restored
        there.finish(120)
        there.check()
        check_key_file(stage, act.endpoint, restored)
        act.command("cancel")


def check_key_file(stage, endpoint, restored):
    """What is stored opens the endpoint's key with the key files, and with nothing else."""
    opened = restored.person.ask("read_key", name=endpoint)
    stage.expect(opened == restored.key, "the copy cannot read its keys")
    (restored.folder / "keys").rename(restored.folder / "keys-elsewhere")
    try:
        found = restored.person.ask("read_key", name=endpoint)
    except SecretsError:
        found = ""
    stage.expect(found == "", "the key was read without its key file")
