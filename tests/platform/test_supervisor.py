"""The supervisor with tiny real processes: restarts, order, and nothing left behind."""

from __future__ import annotations

import os
import signal

import pytest

from evalsite.embedded.supervisor import Part, PartFailed, Supervisor
from tests.harness.patience import PATIENCE_SECONDS
from tests.platform.processes import (
    HAS_A_CHILD,
    STUBBORN,
    WAITS,
    Supervised,
    is_running,
    wait_until_gone,
)

WAITS_KNOWN = (
    "import os, pathlib, signal; print('pid', os.getpid(), flush=True);"
    " pathlib.Path({file!r}).touch(); signal.pause()"
)
FAILS = """
import pathlib, time
while not pathlib.Path({file!r}).exists():
    time.sleep(0.01)
raise SystemExit('no luck today')
"""
ORDERED_STOP = "import signal; {ready}; signal.sigwait([signal.SIGTERM]); print('stopped')"


def test_a_killed_part_is_started_again_and_one_line_says_so():
    with Supervised(f"web={WAITS}") as supervised:
        first = supervised.pid_of("web")
        os.kill(first, signal.SIGKILL)
        line = supervised.read_until(lambda line: "again" in line)
        second = supervised.pid_of("web")
        assert line == "web       | was ended by SIGKILL; starting it again in 0.5 s"
        assert second != first
        assert is_running(second)


def test_a_part_that_comes_to_its_end_by_itself_is_started_again():
    with Supervised("web=print('hello')") as supervised:
        supervised.read_until(lambda line: "ended with exit code 0; starting it again" in line)
        for _ in range(2):
            supervised.read_until(lambda line: line == "web       | hello")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_stops_all_parts(number):
    with Supervised(f"redis={WAITS}", f"web={WAITS}") as supervised:
        pids = [supervised.pid_of("redis"), supervised.pid_of("web")]
        supervised.read_until(lambda line: line == "ready")
        supervised.process.send_signal(number)
        assert supervised.process.wait(PATIENCE_SECONDS) == 0
        assert not any(is_running(pid) for pid in pids)


def test_kill_9_of_the_supervisor_leaves_nothing_running():
    with Supervised(f"redis={WAITS}", f"web={STUBBORN}") as supervised:
        pids = [supervised.pid_of("redis"), supervised.pid_of("web")]
        supervised.process.kill()
        wait_until_gone(*pids)


def test_parts_stop_in_reverse_order():
    """The mask comes first: a signal between the print and sigwait must wait, not kill."""
    ready = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); print('up', flush=True)"
    program = ORDERED_STOP.format(ready=ready)
    with Supervised(f"redis={program}", f"web={program}", f"worker={program}") as supervised:
        for _ in range(3):
            supervised.read_until(lambda line: line.endswith("| up"))
        supervised.process.send_signal(signal.SIGTERM)
        supervised.process.wait(PATIENCE_SECONDS)
        stops = [line.split()[0] for line in supervised.read_rest() if "stopped" in line]
        assert stops == ["worker", "web", "redis"]


def test_a_part_that_ignores_the_request_to_stop_is_killed_after_its_grace():
    with Supervised(f"web={STUBBORN}", grace_seconds=1) as supervised:
        pid = supervised.pid_of("web")
        supervised.process.send_signal(signal.SIGINT)
        assert supervised.process.wait(PATIENCE_SECONDS) == 0
        assert "web       | still there after 1 s; killed" in supervised.read_rest()
        assert not is_running(pid)


def test_what_a_part_started_itself_ends_with_it():
    with Supervised(f"worker={HAS_A_CHILD}", grace_seconds=1) as supervised:
        grandchild = supervised.pid_of("worker")
        supervised.process.send_signal(signal.SIGINT)
        supervised.process.wait(PATIENCE_SECONDS)
        wait_until_gone(grandchild)


def test_lines_without_an_end_are_passed_on_in_pieces():
    with Supervised("web=print('x' * 200_000, flush=True); import signal; signal.pause()") as lines:
        piece = lines.read_until(lambda line: line.startswith("web"))
        assert set(piece.removeprefix("web       | ")) == {"x"}


def test_a_part_that_never_gets_ready_stops_the_start_and_the_others(tmp_path):
    """It fails when the other one has said who it is, which it could not do any more later."""
    redis, broken = (text.format(file=str(tmp_path / "up")) for text in (WAITS_KNOWN, FAILS))
    with Supervised(f"redis={redis}", f"broken={broken}", f"worker={WAITS}") as supervised:
        pid = supervised.pid_of("redis")
        assert supervised.process.wait(PATIENCE_SECONDS) == 1
        text = "\n".join(supervised.read_rest())
        assert "broken    | no luck today" in text
        assert "worker" not in text, "later stages must not start"
        assert not is_running(pid)


async def test_a_program_that_is_not_there_is_named():
    said: list[str] = []
    ghost = Part("ghost", 0, ["/nowhere/ghost"], {})
    with pytest.raises(PartFailed, match="ghost did not get ready"):
        await Supervisor([ghost], lambda _, line: said.append(line)).run(when_ready=lambda: None)
    assert "could not be started" in said[0]
    assert "/nowhere/ghost" in said[0]
