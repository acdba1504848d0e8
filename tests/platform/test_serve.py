"""The whole site by one command: it comes up, heals, and leaves nothing behind."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator

import pytest

from tests.harness.patience import PATIENCE_SECONDS
from tests.platform.processes import is_running, wait_until_gone
from tests.platform.serving import SETUP, Serve, time_of_first_answer

pytestmark = pytest.mark.late


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[[], Serve]]:
    started: list[Serve] = []

    def start() -> Serve:
        started.append(Serve(tmp_path / "data"))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def status_of(url: str) -> int:
    with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as response:
        return int(response.status)


def test_it_comes_up_heals_and_stops_without_a_trace(serve):
    site = serve()
    url = site.wait_until_ready()
    assert status_of(f"{url}/readyz") == 200

    assert status_of(site.wait_for(SETUP)) == 200, "the first person gets a link, not a password"

    tasks = sorted(site.children().values())
    assert tasks == ["redis", "simulator", "web", "worker", "worker"]
    first = site.web()
    site.kill_web()
    site.wait_for(r"web +\| was ended by SIGKILL; starting it again")
    time_of_first_answer(url)
    assert site.web() != first

    pids = list(site.children())
    assert site.stop() == 0
    assert not [pid for pid in pids if is_running(pid)]


def test_kill_9_leaves_nothing_and_the_next_start_works(serve):
    site = serve()
    site.wait_until_ready()
    pids = list(site.children())
    site.process.kill()
    wait_until_gone(*pids)
    again = serve()
    again.wait_until_ready()
    assert again.stop() == 0


def test_a_second_one_in_the_same_folder_is_turned_away(serve):
    serve().wait_until_ready()
    second = serve()
    assert second.process.wait(PATIENCE_SECONDS) == 2
    second.wait_for(r"is in use by another `serve` \(process \d+\)")
