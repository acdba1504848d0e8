"""What stops `serve` before anything is started: a taken port, a taken folder."""

from __future__ import annotations

import pytest

from evalsite.embedded.data_lock import DataFolderTaken, only_one_in
from evalsite.embedded.ports import PortTaken, claim_port, claim_usual_port
from tests.platform.processes import listening_socket
from tests.platform.test_environment import manage


def test_a_free_port_is_claimed():
    assert claim_port("127.0.0.1", 0, "--port") > 0


def test_a_taken_port_is_named_with_the_option_that_changes_it():
    with listening_socket() as listener:
        port = listener.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"Port {port} on 127.0.0.1 .* --port {port + 1}"):
            claim_port("127.0.0.1", port, "--port")


def test_a_second_site_takes_a_free_port_instead_of_the_usual_one():
    with listening_socket() as listener:
        usual = listener.getsockname()[1]
        other = claim_usual_port("127.0.0.1", usual)
    assert other not in (0, usual)


def test_an_address_that_is_not_ours_is_explained():
    with pytest.raises(PortTaken, match=r"cannot be used .* --host"):
        claim_port("192.0.2.1", 8000, "--port")  # a documentation address: never anybody's


def test_a_data_folder_has_one_serve_at_a_time(tmp_path):
    with (
        only_one_in(tmp_path),
        pytest.raises(DataFolderTaken, match=r"another `serve` \(process \d+\).* --data DIR"),
        only_one_in(tmp_path),
    ):
        pass
    with only_one_in(tmp_path):
        pass  # free again


@pytest.mark.parametrize("option", ["--port", "--simulator-port"])
def test_serve_says_which_port_is_taken_and_leaves_exit_code_2(tmp_path, option):
    with listening_socket() as listener:
        port = str(listener.getsockname()[1])
        ports = {"--port": "0", "--simulator-port": "0", option: port}
        arguments = [word for pair in ports.items() for word in pair]
        done = manage("serve", *arguments, "--data", str(tmp_path))
    assert done.returncode == 2
    assert f"Port {port} on 127.0.0.1 is taken" in done.stderr
    assert option in done.stderr
    assert not (tmp_path / "evalsite.sqlite3").exists(), "nothing may have been started"


def test_serve_on_a_public_address_asks_for_the_name_it_is_reached_by(tmp_path):
    ports = ("--port", "0", "--simulator-port", "0")
    done = manage("serve", "--host", "0.0.0.0", *ports, "--data", str(tmp_path))
    assert done.returncode == 2
    assert "EVALSITE_ORIGINS=http://" in done.stderr
