"""`manage.py run` before a person, on a site that is served: the bar, the verdict, Ctrl-C."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from evalsite.embedded.parts import MANAGE
from tests.commands.conftest import write
from tests.e2e.run_page import let_go
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import environment_of_a_site

pytestmark = pytest.mark.late

CTRL_C = "\x03"
SEEN = {"TERM": "xterm", "COLUMNS": "160"}

SUMS = {
    "name": "sums [bold]",
    "kind": "evaluate",
    "dataset": {"rows": [{"question": f"{n} + 1?", "expected": str(n + 1)} for n in range(40)]},
    "prompts": [{"name": "terse"}],
    "models": ["simulated/sim-large"],
    "scorers": ["numeric"],
    "cache": "off",
    "limits": {"max_concurrent": 20, "requests_per_minute": None},
}
GOING = ("queued", "starting", "running")
BOARD = (
    r"candidate +score +95 % +n +failed +latency p50 +\$ per 1k"
    r"(.|\n)*terse · simulated/sim-large +0\.\d{3} +0\.\d\d – \d\.\d\d +40 +0 +[\d.]+ m?s +\$[\d.]+"
)


class Terminal:
    """A command on a terminal of its own: what it shows, and keys to press."""

    def __init__(self, data, *words, **variables):
        self._screen, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        self.process = subprocess.Popen(
            [*MANAGE, *map(str, words)],
            env=environment_of_a_site(EVALSITE_DATA=str(data), **SEEN, **variables),
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(inside)
        self.text = ""

    def wait_for(self, pattern):
        end = time.monotonic() + PATIENCE_SECONDS
        while not re.search(pattern, self.text):
            assert time.monotonic() < end, f"No {pattern!r} on the screen:\n{self.text}"
            assert self._read(), f"It ended without {pattern!r}:\n{self.text}"

    @property
    def plain(self):
        """What it shows, without colours and movements of the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text)

    def press(self, keys):
        os.write(self._screen, keys.encode())

    def end(self):
        """Its exit code, once it has ended by itself."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self._read():
            assert time.monotonic() < end, f"It does not end:\n{self.text}"
        return self.process.wait(PATIENCE_SECONDS)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._screen)

    def _read(self):
        """False when there is nobody left to write."""
        if not select.select([self._screen], [], [], 0.2)[0]:
            return True
        try:
            more = os.read(self._screen, 65536)
        except OSError:  # how Linux says that the other end is closed
            return False
        self.text += more.decode(errors="replace")
        return bool(more)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write(tmp_path_factory.mktemp("place") / "sums.yaml", SUMS)


@pytest.fixture(autouse=True)
def held(site, demo):
    """Ten calls are answered, the rest when it is let go: no run ends under somebody's keys."""
    site.simulator.change(hold_after=10)
    yield
    site.come_to_rest()


@pytest.fixture
def run_file(site, file):
    """`manage.py run` of the file, on a terminal."""
    opened = []

    def start(*words, **variables):
        opened.append(Terminal(site.folder, "run", file, *words, **variables))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def newest_run(site):
    return site.database.one("SELECT max(id) FROM runs_run")


def test_a_person_sees_a_bar_and_then_the_verdict(run_file, site):
    terminal = run_file("--min-score", "0.99")
    terminal.wait_for("/40 · ")
    let_go(site)
    assert terminal.end() == 100
    assert "sums [bold], 40 trials." in terminal.text  # text, not markup
    assert "Failed: score" in terminal.text
    assert "ok   finished: 40 of 40 trials are done." in terminal.text
    assert '{"event"' not in terminal.text
    assert re.search(BOARD, terminal.plain)


def test_a_run_of_this_process_ends_with_the_leaderboard_and_the_advice(run_file, site):
    let_go(site)
    models = "models=[simulated/sim-large, simulated/sim-small:400]"
    here = run_file("--here", "--set", models, EVALSITE_SIMULATOR_URL=site.simulator.url)
    assert here.end() == 3  # half of its trials failed
    assert re.search(BOARD, here.plain)
    assert re.search(r"terse · simulated/sim-small:400 +– +– +0 +40 +– +–", here.plain)
    assert "40 trials failed with refused. The provider refused the request" in here.text


@pytest.mark.parametrize(
    ("answer", "words", "states"),
    [
        pytest.param("c\n", "is cancelled; what is scored stays", ["cancelled"], id="c"),
        pytest.param("\n", "manage.py watch {run}", GOING, id="return"),
        pytest.param(CTRL_C, "manage.py watch {run}", GOING, id="ctrl-c again"),
    ],
)
def test_ctrl_c_asks_once_and_leaves_it_running_if_it_may(run_file, site, answer, words, states):
    terminal = run_file()
    terminal.wait_for("/40 · ")
    terminal.press(CTRL_C)
    terminal.wait_for(r"\[c/L\]")
    terminal.press(answer)
    assert terminal.end() == 130
    run = newest_run(site)
    assert words.format(run=run) in terminal.text
    assert site.database.state(run) in states


def test_ctrl_c_ends_a_run_of_this_process(run_file, site):
    before = newest_run(site)
    here = run_file("--here", EVALSITE_SIMULATOR_URL=site.simulator.url)
    here.wait_for(r" [1-9]\d*/40 · ")
    here.press(CTRL_C)
    assert here.end() == 130
    assert "of 40 trials; nothing is stored." in here.text
    assert "Traceback" not in here.text
    assert newest_run(site) == before


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_without_a_terminal_a_signal_leaves_it_running(site, file, number, exit_code):
    env = environment_of_a_site(EVALSITE_DATA=str(site.folder))
    process = subprocess.Popen(
        [*MANAGE, "run", file, "--json"], env=env, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    launch = json.loads(process.stdout.readline())
    while json.loads(process.stdout.readline()).get("done") == 0:
        pass
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (exit_code, "")
    left = json.loads(out.splitlines()[-1])
    assert (left["event"], left["how"]) == ("left", f"manage.py watch {launch['run_id']}")
    assert site.database.state(launch["run_id"]) in GOING
