"""The whole site by one command: what it refuses to start on, how it comes up, heals and ends."""

import os
import signal
import socket
import sys
import urllib.request
from contextlib import contextmanager

import pytest

from evalsite.embedded.data_lock import DataFolderTaken, only_one_in
from evalsite.embedded.loose_parts import LoggedProcess
from evalsite.embedded.parts import answers_ready
from evalsite.embedded.ports import PortTaken, claim_port, claim_usual_port
from evalsite.embedded.supervisor import Part, PartFailed, Supervisor
from evalsite.env import BASE_DIR
from tests.harness.patience import PATIENCE_SECONDS, wait_until
from tests.harness.processes import is_running, wait_until_gone
from tests.harness.site import ServedSite
from tests.harness.table import row, table
from tests.platform.test_environment import manage


@pytest.fixture
def taken_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_free_port_is_claimed_a_taken_one_named_and_an_address_of_others_explained(taken_port):
    assert claim_port("127.0.0.1", 0, "--port") > 0
    assert claim_usual_port("127.0.0.1", taken_port) not in (0, taken_port)  # a second site's
    named = rf"Port {taken_port} on 127.0.0.1 .* --port {taken_port + 1}"
    with pytest.raises(PortTaken, match=named):
        claim_port("127.0.0.1", taken_port, "--port")
    with pytest.raises(PortTaken, match=r"cannot be used .* --host"):
        claim_port("192.0.2.1", 8000, "--port")  # a documentation address: never anybody's


def test_a_data_folder_has_one_serve_at_a_time(tmp_path):
    with (
        only_one_in(tmp_path),
        pytest.raises(DataFolderTaken, match=r"another `serve` \(process \d+\).* --data DIR"),
        only_one_in(tmp_path),
    ):
        pass


@table(
    row("--port {taken} --simulator-port 0", ["{is_taken}", "--port"], id="port"),
    row("--port 0 --simulator-port {taken}", ["{is_taken}", "--simulator-port"], id="simulator"),
    row("--host 0.0.0.0 --port 0 --simulator-port 0", ["EVALSITE_ORIGINS=http://"], id="no name"),
)
def test_serve_says_what_is_wrong_and_leaves_exit_code_2(tmp_path, taken_port, options, told):
    done = manage("serve", *options.format(taken=taken_port).split(), "--data", str(tmp_path))
    assert done.returncode == 2
    is_taken = f"Port {taken_port} on 127.0.0.1 is taken"
    assert [part for part in told if part.format(is_taken=is_taken) not in done.stderr] == []
    assert not (tmp_path / "evalsite.sqlite3").exists(), "nothing may have been started"


@pytest.mark.late
@pytest.mark.timeout(600)  # two sites, one after the other
def test_it_comes_up_heals_and_leaves_nothing_behind_however_it_ends(tmp_path):
    site = ServedSite(tmp_path)
    try:
        assert status_of(f"{site.url}/readyz") == 200
        assert status_of(site.setup_link) == 200, "the first person gets a link, not a password"
        tasks = sorted(site.children().values())
        assert tasks == ["redis", "simulator", "web", "worker", "worker"]
        second = manage("serve", "--port", "0", "--data", str(tmp_path))
        assert second.returncode == 2
        assert "is in use by another `serve` (process " in second.stderr
        killed = site.kill_web()
        site.serve.wait_for(r"web +\| was ended by SIGKILL; starting it again")
        wait_until(lambda: answers_ready(site.url))
        assert killed not in site.children()
        pids = site.children()
        site.serve.popen.kill()
        wait_until_gone(*pids)
    finally:
        site.serve.kill()
    # It starts on what the killed one left, and fails if it leaves a process.
    ServedSite(tmp_path, EVALSITE_WORKERS="1").close()


def status_of(url):
    with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as response:
        return response.status


# --- The supervisor with tiny real processes: restarts, order, and nothing left behind


# Supervises the parts of argv[2:], each "name=program", until it is told to stop; then each has the
# seconds of argv[1]. The part called broken never gets ready.
SUPERVISING = """
import asyncio, os, sys
from evalsite.embedded.supervisor import Part, Supervisor
from tests.harness.patience import PATIENCE_SECONDS

def part(index, text):
    name, _, program = text.partition("=")
    argv = [sys.executable, "-S", "-c", program]
    is_ready = (lambda: False) if name == "broken" else None
    seconds = float(sys.argv[1]), PATIENCE_SECONDS
    return Part(name, index, argv, dict(os.environ), is_ready, *seconds)

async def main():
    parts = [part(index, text) for index, text in enumerate(sys.argv[2:])]
    await Supervisor(parts).run(when_ready=lambda: print("ready", flush=True))

asyncio.run(main())
"""
WAITS = "import os, signal; print('pid', os.getpid(), flush=True); signal.pause()"
# Hears SIGTERM and does not care.
STUBBORN = (
    "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    " print('pid', os.getpid(), flush=True)\nwhile True: signal.pause()"
)
# Starts a child of its own, in the same group.
HAS_A_CHILD = (
    "import signal, subprocess, sys;"
    " child = subprocess.Popen([sys.executable, '-S', '-c', 'import signal; signal.pause()']);"
    " print('pid', child.pid, flush=True); signal.pause()"
)
WAITS_KNOWN = (
    "import os, pathlib, signal; print('pid', os.getpid(), flush=True);"
    " pathlib.Path({file!r}).touch(); signal.pause()"
)
FAILS = """
import pathlib, time
while not pathlib.Path({file!r}).exists():
    time.sleep(0.01)  # nobody tells of files
raise SystemExit('no luck today')
"""
# The mask comes first: a signal between the print and sigwait must wait, not kill.
STOPS_ALOUD = (
    "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]);"
    " print('up', flush=True); signal.sigwait([signal.SIGTERM]); print('stopped')"
)


@pytest.fixture
def supervise(tmp_path):
    """A supervisor in a process of its own, and the lines it prints."""

    @contextmanager
    def start(*parts, grace_seconds=PATIENCE_SECONDS):
        argv = [sys.executable, "-c", SUPERVISING, str(grace_seconds), *parts]
        env = {**os.environ, "PYTHONPATH": str(BASE_DIR)}
        process = LoggedProcess("all", argv, env, tmp_path, ready_seconds=PATIENCE_SECONDS)
        try:
            yield process
        finally:
            process.kill()

    return start


def pid_of(name, supervised):
    """Of the part's first life."""
    return int(supervised.wait_for(rf"{name} +\| pid (\d+)\n"))


def test_a_killed_part_is_started_again_and_one_line_says_so(supervise):
    with supervise(f"web={WAITS}") as supervised:
        first = pid_of("web", supervised)
        os.kill(first, signal.SIGKILL)
        said = r"\nweb       \| was ended by SIGKILL; starting it again in 0\.5 s\n"
        second = int(supervised.wait_for(rf"(?s){said}.*web +\| pid (\d+)\n"))
        assert second != first
        assert is_running(second)


def test_a_part_that_comes_to_its_end_by_itself_is_started_again(supervise):
    with supervise("web=print('hello')") as supervised:
        again = "ended with exit code 0; starting it again"
        supervised.wait_for(rf"(?s)web       \| hello\n.*{again}.*web       \| hello\n")


def test_lines_without_an_end_are_passed_on_in_pieces(supervise):
    long = "print('x' * 200_000, flush=True); import signal; signal.pause()"
    with supervise(f"web={long}") as supervised:
        supervised.wait_for(r"(?m)^web       \| x+$")


@table(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
def test_one_signal_stops_all_parts(supervise, number):
    with supervise(f"redis={WAITS}", f"web={WAITS}") as supervised:
        pids = [pid_of("redis", supervised), pid_of("web", supervised)]
        supervised.wait_for(r"(?m)^ready$")
        supervised.signal(number)
        assert supervised.popen.wait(PATIENCE_SECONDS) == 0
        assert not any(is_running(pid) for pid in pids)


def test_kill_9_of_the_supervisor_leaves_nothing_running(supervise):
    with supervise(f"redis={WAITS}", f"web={STUBBORN}") as supervised:
        pids = [pid_of("redis", supervised), pid_of("web", supervised)]
        supervised.popen.kill()
        wait_until_gone(*pids)


def test_parts_stop_in_reverse_order(supervise):
    names = ["redis", "web", "worker"]
    with supervise(*(f"{name}={STOPS_ALOUD}" for name in names)) as supervised:
        for name in names:
            supervised.wait_for(rf"{name} +\| up\n")
        supervised.signal(signal.SIGTERM)
        supervised.popen.wait(PATIENCE_SECONDS)
        lines = supervised.text.splitlines()
        assert [line.split()[0] for line in lines if "stopped" in line] == names[::-1]


def test_a_part_that_does_not_stop_is_killed_and_what_one_started_ends_with_it(supervise):
    parts = (f"web={STUBBORN}", f"worker={HAS_A_CHILD}")
    with supervise(*parts, grace_seconds=1) as supervised:
        pid, grandchild = pid_of("web", supervised), pid_of("worker", supervised)
        supervised.signal(signal.SIGINT)
        assert supervised.popen.wait(PATIENCE_SECONDS) == 0
        assert "\nweb       | still there after 1 s; killed\n" in supervised.text
        assert not is_running(pid)
        wait_until_gone(grandchild)


def test_a_part_that_never_gets_ready_stops_the_start_and_the_others(supervise, tmp_path):
    """It fails when the other one has said who it is, which it could not do any more later."""
    redis, broken = (text.format(file=str(tmp_path / "up")) for text in (WAITS_KNOWN, FAILS))
    with supervise(f"redis={redis}", f"broken={broken}", f"worker={WAITS}") as supervised:
        pid = pid_of("redis", supervised)
        assert supervised.popen.wait(PATIENCE_SECONDS) == 1
        assert "broken    | no luck today" in supervised.text
        assert "worker" not in supervised.text, "later stages must not start"
        assert not is_running(pid)


async def test_a_part_that_is_slow_to_get_ready_is_waited_for():
    said: list[str] = []
    argv = [sys.executable, "-S", "-c", "import signal; signal.pause()"]
    slow = Part("slow", 0, argv, {}, lambda: bool(said), slow_after_seconds=0.01)
    supervisor = Supervisor([slow], lambda _, line: said.append(line))
    await supervisor.run(when_ready=lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert said[0] == "not ready after 0.01 s; still waiting for it"


async def test_a_program_that_is_not_there_is_named():
    said: list[str] = []
    ghost = Part("ghost", 0, ["/nowhere/ghost"], {})
    with pytest.raises(PartFailed, match="ghost did not get ready"):
        await Supervisor([ghost], lambda _, line: said.append(line)).run(when_ready=lambda: None)
    assert "could not be started" in said[0]
    assert "/nowhere/ghost" in said[0]
