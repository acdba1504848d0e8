"""The `simulate` command: says that it listens, refuses a taken port, stops when told."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness.patience import PATIENCE_SECONDS
from workers.simulator.testing import SimulatorClient

ROOT = Path(__file__).parents[2]


def start(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "manage.py", "simulate", *options]
    return subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )


@contextmanager
def simulate(*options: str) -> Iterator[tuple[subprocess.Popen[str], SimulatorClient]]:
    """The command, and what can ask its control API as it has announced."""
    process = start("--port", "0", *options)
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


def test_a_taken_port_is_named_and_ends_in_exit_2():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        process = start("--port", port)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2
    assert f"Port {port} on 127.0.0.1 is taken" in errors
    assert "--port" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("options", [("--jitter", "2"), ("--latency-ms", "x"), ("--nonsense",)])
def test_a_wrong_option_ends_in_exit_2(options):
    process = start("--port", "0", *options)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2
    assert options[0].removeprefix("--") in errors.replace("_", "-")
