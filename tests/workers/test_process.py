"""Parts of a worker's process: how it ends, keeps time, stands still and reads the cache."""

import asyncio
import ctypes
import faulthandler
import multiprocessing
import sqlite3
from contextlib import closing
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection, connections
from django.utils.timezone import now

from evalsite.watchdog import beat
from runs.models import DueTime, RunGate
from runs.services.chunks.leases import LEASE, SWEEP_SECONDS
from runs.services.configurations import save_configuration
from runs.services.gating import set_gate
from runs.services.runs import cancel_run
from runs.services.schedules import save_schedule
from tests.harness.patience import PATIENCE_SECONDS
from workers import database_cache, runtime
from workers.database_cache import DatabaseCache
from workers.database_thread import in_database
from workers.engine.records import Reply
from workers.runtime import EXIT_BROKEN, die_with, is_caused_by
from workers.timekeeper import Timekeeper


async def break_a_task():
    async def recorder():
        raise MemoryError

    task = asyncio.create_task(recorder())
    task.add_done_callback(die_with)
    await asyncio.sleep(PATIENCE_SECONDS)  # only a process that was not ended lives so long


def live_until_broken():
    asyncio.run(break_a_task())


def test_a_task_that_fails_takes_its_process_with_it():
    worker = multiprocessing.get_context("fork").Process(target=live_until_broken)
    worker.start()
    worker.join(PATIENCE_SECONDS)
    assert worker.exitcode == EXIT_BROKEN


async def test_a_task_that_is_stopped_does_not():
    task = asyncio.create_task(asyncio.sleep(PATIENCE_SECONDS))  # never ends
    task.add_done_callback(die_with)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)  # the callback has run, and we are still here
    assert task.cancelled()


def test_trouble_is_found_among_the_failures_of_a_chunk():
    failures = ExceptionGroup("", [ValueError(), ExceptionGroup("", [MemoryError()])])
    assert is_caused_by(failures, MemoryError)
    assert not is_caused_by(failures, OSError)
    assert is_caused_by(MemoryError(), MemoryError)


FROZEN_SECONDS = LEASE.total_seconds() + 1


class Ended(Exception):
    pass


class Machine:
    """Sleeps as long as it is told to, once longer; notes when leases may be taken back."""

    def __init__(self, sleeps):
        self.now = 1000.0
        self.sleeps = sleeps
        self.may_reclaim: list[bool] = []

    def monotonic(self):
        return self.now

    async def sleep(self, seconds):
        assert seconds == SWEEP_SECONDS
        if not self.sleeps:
            raise Ended
        self.now += self.sleeps.pop(0)

    async def in_database(self, work):
        if work is not runtime.ask_database:
            self.may_reclaim.append(work.keywords["may_reclaim"])


LATE = 2.5 * SWEEP_SECONDS


@pytest.mark.parametrize(
    ("sleeps", "reclaims"),
    [
        pytest.param(
            [SWEEP_SECONDS, FROZEN_SECONDS, *[SWEEP_SECONDS] * 5],
            [True, True, *[False] * 5, True],
            id="frozen once",
        ),
        pytest.param([LATE] * 9, [True, *[False] * 5, *[True] * 4], id="late all the time"),
    ],
)
async def test_leases_are_left_alone_for_the_time_of_a_lease(monkeypatch, sleeps, reclaims):
    machine = Machine([*sleeps])
    monkeypatch.setattr(runtime, "time", machine)
    monkeypatch.setattr(runtime, "asyncio", SimpleNamespace(sleep=machine.sleep))
    monkeypatch.setattr(runtime, "in_database", machine.in_database)
    with pytest.raises(Ended):
        await runtime.Runtime._sweep(None)  # type: ignore[arg-type]
    assert machine.may_reclaim == reclaims


class Slow:
    """A database that answers when it is let."""

    def __init__(self):
        self.asked: list[list[str]] = []
        self.may_answer = asyncio.Event()

    async def read(self, keys):
        self.asked.append(list(keys))
        await self.may_answer.wait()
        return {key: Reply(key, 1.0) for key in keys if key != "missing"}


@pytest.fixture
def slow(monkeypatch):
    slow = Slow()
    monkeypatch.setattr(database_cache, "read_cache", slow.read)
    return slow


async def turns():
    for _ in range(5):
        await asyncio.sleep(0)  # lets the tasks go on


async def test_keys_wanted_while_another_query_is_under_way_go_together(slow):
    cache = DatabaseCache(1, None)  # type: ignore[arg-type]  # it keeps nothing
    first = asyncio.create_task(cache.get_many(["a"]))
    await turns()
    later = [asyncio.create_task(cache.get_many([key])) for key in ("b", "missing", "c")]
    await turns()
    assert slow.asked == [["a"]]
    later[0].cancel()  # the others wait for the same query
    slow.may_answer.set()
    assert (await first)["a"].text == "a"
    assert "missing" not in await later[1]
    assert (await later[2])["c"].text == "c"
    assert slow.asked == [["a"], ["b", "missing", "c"]]
    assert (await cache.get_many(["d"]))["d"].text == "d"


@pytest.mark.postgresql("unique rows: a due time is launched once")
@pytest.mark.django_db(transaction=True)
async def test_a_tick_launches_what_is_due_and_judges_what_has_ended(alice, document):
    def prepare():
        stored = save_configuration(alice, "nightly", document)
        set_gate(stored, alice, None, {"min_score": 0.5})
        return save_schedule(stored, alice, "30 6 * * *", "UTC", now())

    schedule = await in_database(prepare)
    await Timekeeper().tick(schedule.next_due - timedelta(seconds=1))
    assert await in_database(DueTime.objects.count) == 0
    await Timekeeper().tick(schedule.next_due)
    time = await in_database(lambda: DueTime.objects.select_related("run").get())
    await in_database(cancel_run, time.run, alice)
    await Timekeeper().tick(schedule.next_due)
    gate = await in_database(RunGate.objects.get)
    assert (gate.run_id, gate.state) == (time.run_id, "failed")
    await in_database(connections.close_all)  # the thread outlives the test's database


@pytest.mark.django_db(transaction=True)
def test_the_database_is_asked_for_the_lock_that_renewing_a_lease_takes():
    """Else a worker that waits for it would lose its chunks to one that only reads."""
    address = f"file:{connection.settings_dict['NAME']}"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 1")  # instead of 20 s
        with pytest.raises(OperationalError, match="locked"):
            runtime.ask_database()
        writer.execute("ROLLBACK")
    runtime.ask_database()
    connection.close()


def stand_still_under_watch():
    async def work():
        task = asyncio.create_task(beat(0.5, None))
        await asyncio.sleep(0)  # it has begun to watch
        ctypes.PyDLL(None).sleep(3600)  # no thread gets a turn
        task.cancel()

    asyncio.run(work())


def serve_and_stand_still():
    """The web server, with the reactor that it installs."""
    from daphne.server import reactor

    from evalsite.web.server import Server

    reactor.callLater(0.1, ctypes.PyDLL(None).sleep, 3600)
    Server(None, endpoints=["tcp:0:interface=127.0.0.1"], signal_handlers=False).run()


@pytest.mark.parametrize("stand_still", [stand_still_under_watch, serve_and_stand_still])
def test_a_process_whose_loop_stands_still_is_ended_whatever_holds_it(stand_still, capfd, settings):
    settings.HANG_SECONDS = 0.5
    process = multiprocessing.get_context("fork").Process(target=stand_still)
    process.start()
    process.join(PATIENCE_SECONDS)
    assert process.exitcode == 1
    assert "Timeout (0:00:00.500000)!" in capfd.readouterr().err  # and where it stood


async def test_a_worker_that_beats_is_not_and_touches_its_file(tmp_path):
    file = tmp_path / "beat"
    task = asyncio.create_task(beat(PATIENCE_SECONDS, file))
    await asyncio.sleep(0)  # its first beat
    assert file.exists()
    task.cancel()
    faulthandler.cancel_dump_traceback_later()
