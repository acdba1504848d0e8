"""The process lane: what its children do to themselves, to the pipes and to each other."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.engine import lane_work as work
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import wait_until_gone
from tests.simulator.calls import until
from workers.engine import errors
from workers.engine.lanes import ProcessLane, process_lane

ROOT = Path(__file__).resolve().parents[2]
LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]
SLEEPER = (os.spawnlp, os.P_NOWAIT, "sleep", "sleep", "600")  # gives the pid of what is left behind


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return str(path)


async def until_gone(*pids):
    """Watched in a thread, so that this loop goes on meanwhile."""
    await asyncio.to_thread(wait_until_gone, *pids)


def run_in_a_thread(make_loop, story):
    """As in a worker, whose loop is not the main thread's."""

    def run() -> None:
        with asyncio.Runner(loop_factory=make_loop) as runner:
            runner.run(story())

    with ThreadPoolExecutor(1) as threads:
        threads.submit(run).result()


DEATHS: list[tuple[Callable[..., Any], tuple[Any, ...], type[errors.CallError], str]] = [
    (os._exit, (3,), errors.ProcessDied, r"Its process ended with exit code 3\."),
    (ctypes.string_at, (0,), errors.ProcessDied, r"Its process was ended by SIGSEGV\."),
    (signal.raise_signal, (9,), errors.ProcessDied, r"Its process was ended by SIGKILL\."),
    (time.sleep, (600,), errors.TimedOut, r"No result within 0\.2 s\. Its process was ended\."),
    (bytes, (10**6,), errors.ResultTooLarge, r"Allowed: 1,000\. Its process was ended\."),
]


@pytest.mark.parametrize("make_loop", LOOPS, ids=["asyncio", "uvloop"])
def test_a_child_that_dies_or_must_be_killed_is_replaced(make_loop):
    async def story() -> None:
        lane = ProcessLane(60, size=1, most_bytes=1000)
        for function, arguments, error, message in DEATHS:
            pid = await lane.call(os.getpid)
            limit = 0.2 if error is errors.TimedOut else None
            with pytest.raises(error, match=message):
                await lane.call(function, *arguments, timeout_seconds=limit)
            await until_gone(pid)
        last = await lane.call(os.getpid)
        assert lane.pids == {last}
        await lane.close()
        await until_gone(last)

    run_in_a_thread(make_loop, story)


FAILURES: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (work.fail, ("no\x00\ud800",), "^ValueError: no\ufffd\\?$"),
    (sys.exit, (2,), "^SystemExit: 2$"),
    (work.fail_in_a_riddle, (), "^Riddle, whose message cannot be read$"),
    (sys._getframe, (), "pickle"),  # its result
    (work.Unreadable, (), "Its result cannot be read: ValueError: out of its box"),
    (lambda: None, (), "Allowed: a function at the top level of a module"),
    (len, (sys._getframe(),), "arguments that can be pickled"),
]


async def test_what_goes_wrong_is_told_and_the_child_goes_on(lane, monkeypatch):
    monkeypatch.setattr(work.meet, "__module__", "__main__")
    with pytest.raises(errors.WorkFailed, match="it is in __main__"):
        await lane.call(work.meet)
    assert lane.pids == set()
    first = await lane.call(os.getpid)
    for function, arguments, message in FAILURES:
        with pytest.raises(errors.WorkFailed, match=message):
            await lane.call(function, *arguments)
        assert await lane.call(os.getpid) == first


async def test_children_are_started_when_needed_and_used_again(fifo):
    lane = ProcessLane(60, size=2)
    assert lane.pids == set()
    first = await lane.call(os.getpid)
    assert {await lane.call(os.getpid) for _ in range(5)} == lane.pids == {first}
    both = await asyncio.gather(lane.call(work.meet, fifo, "rb"), lane.call(work.meet, fifo, "wb"))
    assert set(both) == lane.pids
    assert len(lane.pids) == 2
    many = await asyncio.gather(*(lane.call(os.getpid) for _ in range(20)))
    assert set(many) <= set(both)
    await lane.close()
    await until_gone(*both)


async def test_what_work_prints_signals_or_copies_leaves_its_child_as_it_was(lane, capfd):
    assert await lane.call(work.chatter) == ("", "quiet")
    assert await lane.call(bytes, 3) == b"\0\0\0"
    assert capfd.readouterr().err.splitlines() == ["printed", "written", "echoed"]
    # Only the parent ends a child.
    child = await lane.call(os.getpid)
    for number in (signal.SIGINT, signal.SIGTERM):
        await lane.call(signal.raise_signal, number)
        assert {await lane.call(os.getpid)} == lane.pids == {child}
    # A copy of a child does not answer.
    await until_gone(await lane.call(os.fork))
    assert await lane.call(os.getpid) == child
    # A piece may be the last of its process.
    assert await lane.call(work.retire_with, 7) == 7
    second = await lane.call(os.getpid)
    assert second != child
    assert await lane.call(os.getpid) == second


async def test_a_child_has_no_secrets_and_the_modules_of_its_parent(lane, tmp_path, monkeypatch):
    (tmp_path / "somewhere_else.py").write_text("def double(number): return 2 * number\n")
    monkeypatch.syspath_prepend(tmp_path)
    import somewhere_else  # type: ignore[import-not-found]

    for name in ("EVALSITE_SECRET_KEY", "DATABASE_URL", "REDIS_URL", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert await lane.call(somewhere_else.double, 4) == 8
    found = (await lane.call(subprocess.getoutput, "env")).splitlines()
    assert not [line for line in found if line.endswith("=secret")]
    expected = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=3", f"PATH={os.environ['PATH']}"}
    assert expected <= set(found)


async def test_importing_a_module_takes_no_time_of_the_work(lane, fifo, tmp_path, monkeypatch):
    monkeypatch.setattr(process_lane, "LOAD_SECONDS", PATIENCE_SECONDS)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "sluggish.py").write_text(f"open({fifo!r}).read()\n")  # until it is closed
    (tmp_path / "broken.py").write_text("raise ValueError('not today')\n")
    sluggish, broken = frozenset({"sluggish"}), frozenset({"broken"})
    first = asyncio.create_task(lane.call(os.getpid, modules=sluggish))
    with await asyncio.to_thread(open, fifo, "w"):  # its import has begun
        loop, real_time = asyncio.get_running_loop(), asyncio.get_running_loop().time
        monkeypatch.setattr(loop, "time", lambda: real_time() + PATIENCE_SECONDS / 2)
        for _ in range(3):  # turns of the loop, in which the minute for the work would be over
            await asyncio.sleep(0)
    pid = await first
    with pytest.raises(errors.WorkFailed, match="ValueError: not today"):
        await lane.call(os.getpid, modules=sluggish | broken)
    assert await lane.call(os.getpid, modules=sluggish) == pid


async def test_a_child_may_use_so_much_memory_and_no_more():
    lane = ProcessLane(60, size=1, most_memory=100 * 1024**2)
    first = await lane.call(os.getpid)
    with pytest.raises(errors.WorkFailed, match=r"MemoryError: a process may use 100 MB\."):
        await lane.call(bytes, 200 * 1024**2)
    assert await lane.call(os.getpid) == first
    await lane.close()


async def test_whoever_has_much_to_do_takes_turns_with_the_others(lane):
    """Of one child, each in turn has one piece; all that was asked first would go first else."""
    ended: list[str] = []

    async def work_for(group: str) -> None:
        await lane.share(group).call(os.getpid)
        ended.append(group)

    await asyncio.gather(*map(work_for, ["busy"] * 20 + ["late"]))
    assert ended.index("late") <= 2


async def test_work_that_nobody_waits_for_is_killed_with_what_it_started(lane):
    sleeper, child = await lane.call(*SLEEPER), await lane.call(os.getpid)
    task = asyncio.create_task(lane.call(time.sleep, 600))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_gone(sleeper, child)
    assert await lane.call(os.getpid) != child
    # A child that dies idle costs no work.
    first = await lane.call(os.getpid)
    os.kill(first, signal.SIGKILL)
    await until(lambda: not lane.pids)
    assert await lane.call(os.getpid) != first
    # What a dead child leaves behind is ended and does not hide its death.
    sleeper = await lane.call(*SLEEPER)
    with pytest.raises(errors.ProcessDied, match="exit code 3"):
        await lane.call(work.leave_a_copy_and_die)
    await until_gone(sleeper)


async def test_a_caller_that_is_cancelled_while_it_waits_leaves_the_child_alone(lane, fifo):
    first = await lane.call(os.getpid)
    busy = asyncio.create_task(lane.call(work.meet, fifo, "rb"))
    waiting = asyncio.create_task(lane.call(os.getpid))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.to_thread(work.meet, fifo, "wb")
    assert await busy == await lane.call(os.getpid) == first


@pytest.mark.late
@pytest.mark.parametrize("keeps_the_lock", [False, True], ids=["sleeps", "keeps the lock"])
def test_children_end_with_a_parent_that_is_killed(keeps_the_lock):
    """Also where the work lets no thread of the child see it: then when twice its time is over."""
    seconds = 2 if keeps_the_lock else 600
    program = (
        "import asyncio, contextlib; from tests.engine import lane_work\n"
        "from workers.engine.lanes import ProcessLane\n"
        "asyncio.timeout = lambda _: contextlib.nullcontext()  # it ends nothing by itself\n"
        "async def main():\n"
        f" await ProcessLane({seconds}).call(lane_work.orphan_myself, {keeps_the_lock})\n"
        "asyncio.run(main())"
    )
    argv = [sys.executable, "-c", program]
    parent = subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    _, said = parent.communicate()  # until nobody holds their standard error any more
    assert parent.returncode == -signal.SIGKILL
    wait_until_gone(int(said.split()[0]))


async def test_closing_ends_children_at_work_and_those_that_start(fifo, caplog, monkeypatch):
    lane = ProcessLane(60, size=2)
    await asyncio.gather(lane.call(work.meet, fifo, "rb"), lane.call(work.meet, fifo, "wb"))
    pids = lane.pids
    under_way = [asyncio.create_task(lane.call(time.sleep, 600)) for _ in range(3)]
    await asyncio.sleep(0)
    await lane.close()
    await lane.close()
    await until_gone(*pids)
    ends = await asyncio.gather(*under_way, lane.call(os.getpid), return_exceptions=True)
    assert [type(end) for end in ends] == [errors.LaneClosed] * 4
    assert lane.pids == set()
    # Also one that starts.
    monkeypatch.setattr(process_lane, "END_SECONDS", PATIENCE_SECONDS)
    lane = ProcessLane(60, size=1)
    task = asyncio.create_task(lane.call(os.getpid))
    await asyncio.sleep(0)
    await lane.close()
    with pytest.raises(errors.LaneClosed):
        await task
    assert lane.pids == set()
    assert caplog.messages == []  # it has ended
