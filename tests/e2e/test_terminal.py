"""`manage.py run` before a person, on a site that is served: the bar, the verdict, Ctrl-C."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.commands.conftest import write
from tests.e2e.site import Site
from tests.e2e.terminal import CTRL_C, Terminal, argv, environment
from tests.harness.patience import PATIENCE_SECONDS, wait_until
from tests.platform.processes import BASE_DIR

pytestmark = pytest.mark.late

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
SLOW = ["--set", "limits.max_concurrent=1", "--set", "repeats=5"]


class Place(NamedTuple):
    """The site of all stories, and a file to run there."""

    site: Site
    file: Path

    @property
    def data(self) -> Path:
        return self.site.data

    def state_of(self, run: int) -> str:
        return str(
            self.site.database.rows("SELECT state FROM runs_run WHERE id = :run", run=run)[0][0]
        )

    def newest_run(self) -> int:
        return int(self.site.database.rows("SELECT max(id) FROM runs_run")[0][0])

    def is_idle(self) -> bool:
        return not self.site.database.rows("SELECT id FROM runs_run WHERE ended IS NULL")


@pytest.fixture(scope="module")
def place(site: Site, demo: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Answers take so long that what is left running lasts; at the end it may come to its end."""
    place = Place(site, write(tmp_path_factory.mktemp("place") / "sums.yaml", SUMS))
    site.simulator.answer_in(milliseconds=1000)
    yield place
    site.simulator.answer_in(milliseconds=1)
    wait_until(place.is_idle)


def test_a_person_sees_a_bar_and_then_the_verdict(place: Place) -> None:
    with closing(Terminal(place.data, "run", place.file, "--min-score", "0.99")) as terminal:
        terminal.wait_for("/40 · ")
        assert terminal.end() == 100
        assert "sums [bold], 40 trials." in terminal.text  # text, not markup
        assert "Failed: score" in terminal.text
        assert "ok   finished: 40 of 40 trials are done." in terminal.text
        assert '{"event"' not in terminal.text
        assert re.search(BOARD, terminal.plain)


def test_a_run_of_this_process_ends_with_the_leaderboard_and_the_advice(place: Place) -> None:
    simulated = {"EVALSITE_SIMULATOR_URL": place.site.simulator.url}
    models = "models=[simulated/sim-large, simulated/sim-small:400]"
    words = ["run", place.file, "--here", "--set", models]
    with closing(Terminal(place.data, *words, **simulated)) as terminal:
        assert terminal.end() == 0
        assert re.search(BOARD, terminal.plain)
        assert re.search(r"terse · simulated/sim-small:400 +– +– +0 +40 +– +–", terminal.plain)
        assert "40 trials failed with refused. The provider refused the request" in terminal.text


def test_ctrl_c_asks_once_and_cancels(place: Place) -> None:
    with closing(Terminal(place.data, "run", place.file, *SLOW)) as terminal:
        terminal.wait_for("/200 · ")
        terminal.press(CTRL_C)
        terminal.wait_for(r"\[c/L\]")
        terminal.press("c\n")
        assert terminal.end() == 130
        assert "is cancelled; what is scored stays" in terminal.text
    assert place.state_of(place.newest_run()) == "cancelled"


@pytest.mark.parametrize("answer", ["\n", CTRL_C], ids=["return", "ctrl-c again"])
def test_ctrl_c_leaves_it_running_unless_told_otherwise(place: Place, answer: str) -> None:
    with closing(Terminal(place.data, "run", place.file, *SLOW)) as terminal:
        terminal.wait_for("/200 · ")
        terminal.press(CTRL_C)
        terminal.wait_for(r"\[c/L\]")
        terminal.press(answer)
        assert terminal.end() == 130
        run = place.newest_run()
        assert f"manage.py watch {run}" in terminal.text
    assert place.state_of(run) in GOING


def test_ctrl_c_ends_a_run_of_this_process(place: Place) -> None:
    before = place.newest_run()
    simulated = {"EVALSITE_SIMULATOR_URL": place.site.simulator.url}
    with closing(Terminal(place.data, "run", place.file, "--here", *SLOW, **simulated)) as terminal:
        terminal.wait_for(r" [1-9]\d*/200 · ")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert "of 200 trials; nothing is stored." in terminal.text
        assert "Traceback" not in terminal.text
    assert place.newest_run() == before


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_without_a_terminal_a_signal_leaves_it_running(
    place: Place, number: int, exit_code: int
) -> None:
    process = subprocess.Popen(
        argv("run", place.file, *SLOW), cwd=BASE_DIR, env=environment(place.data), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    launch: dict[str, Any] = json.loads(process.stdout.readline())
    while json.loads(process.stdout.readline()).get("done") == 0:
        pass
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (exit_code, "")
    left = json.loads(out.splitlines()[-1])
    assert (left["event"], left["how"]) == ("left", f"manage.py watch {launch['run_id']}")
    assert place.state_of(launch["run_id"]) in GOING
