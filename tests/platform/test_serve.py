"""The whole site by one command: what it refuses to start on, how it comes up, heals and ends."""

import socket
import urllib.request

import pytest

from evalsite.embedded.data_lock import DataFolderTaken, only_one_in
from evalsite.embedded.parts import answers_ready
from evalsite.embedded.ports import PortTaken, claim_port, claim_usual_port
from tests.harness.patience import PATIENCE_SECONDS, wait_until
from tests.harness.processes import wait_until_gone
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
