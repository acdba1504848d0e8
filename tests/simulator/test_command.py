"""The `simulate` command: says that it listens, refuses a taken port, stops when told."""

import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.commands.conftest import refused
from tests.harness.patience import PATIENCE_SECONDS
from workers.simulator.testing import SimulatorClient

ROOT = Path(__file__).parents[2]


@contextmanager
def simulate(*options):
    """The command, and what can ask its control API as it has announced."""
    words = [sys.executable, "manage.py", "simulate", "--port", "0", *options]
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, cwd=ROOT, text=True, stdout=pipe, stderr=pipe)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Simulated provider listens on http://127.0.0.1:"), process.stderr
        told = process.stdout.readline()
        assert told.startswith("Its control API asks for: Authorization: Bearer ")
        yield process, SimulatorClient(line.split()[-1], told.split()[-1])
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_listens_as_told_and_stops_at_once_without_a_word(number):
    options = ("--latency-ms", "7", "--error-rate", "0.5", "--model-latency", "sim-large=3")
    with simulate(*options) as (process, simulator):
        settings = simulator.change()
        with socket.create_connection(("127.0.0.1", int(simulator.url.rsplit(":", 1)[1]))):
            process.send_signal(number)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert (settings["latency_ms"], settings["error_rate"]) == (7, 0.5)
    assert settings["model_latency"] == {"sim-large": 3}
    assert (process.returncode, errors) == (0, "")


def test_a_taken_port_and_wrong_options_are_named_and_end_in_exit_2():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options, told in (
            (["--port", port], f"Port {port} on 127.0.0.1 is taken"),
            (["--port", "0", "--latency-ms", "x"], "--latency-ms"),
        ):
            words = [sys.executable, "manage.py", "simulate", *options]
            ended = subprocess.run(words, cwd=ROOT, text=True, capture_output=True)
            assert (ended.returncode, "Traceback" in ended.stderr) == (2, False)
            assert told in ended.stderr
            assert options[-2] in ended.stderr
    assert refused("simulate", "--port", "0", "--jitter", "2", told="jitter")
