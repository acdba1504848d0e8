"""The control API refuses what it does not know; and the command `simulate`."""

import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import aiohttp
import pytest

from tests.commands.conftest import refused
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import table
from tests.simulator.calls import ask
from workers.simulator.control import CONTROLS
from workers.simulator.settings import Settings, SettingsError, change
from workers.simulator.testing import SimulatorClient


@table(
    ({"latency": 5}, "Unknown setting 'latency'. Choose from: seed, latency_ms"),
    ({"latency_ms": -1}, "latency_ms must be at least 0, not -1."),
    ({"latency_ms": "fast"}, "latency_ms must be of type float"),
    ({"latency_ms": None}, "latency_ms must be of type float"),
    ({"latency_ms": float("nan")}, "latency_ms must be at least 0"),
    ({"jitter": 1.5}, "jitter must be from 0 to 1, not 1.5."),
    ({"rpm": 0}, "rpm must be at least 1"),
    ({"rpm": True}, "rpm must be of type int"),
    ({"limit_scope": "planet"}, "limit_scope must be server or model"),
    ({"model_latency": {"gpt-9": 1}}, "model_latency names 'gpt-9'. Choose from: sim-small"),
    ({"model_latency": {"sim-small": -1}}, "model_latency of sim-small must be at least 0"),
    ({"error_rate": 0.6, "hang_rate": 0.6}, "add up to more than 1"),
)
def test_a_wrong_setting_is_refused_with_what_is_allowed(changes, told):
    with pytest.raises(SettingsError) as caught:
        change(Settings(), changes)
    assert told in str(caught.value)


@table(
    ("PUT settings", '{"latency": 5}', 400, "Choose from: seed"),
    ("PUT settings", "[]", 400, "JSON object"),
    ("PUT settings", "{", 400, "not JSON"),
    ("POST script", '{"do": "hang"}', 400, "JSON list"),
    ("POST script", '["hang"]', 400, "Entry 1 must be"),
    ("POST script", '[{"do": "explode"}]', 400, "Choose one of: pass, status"),
    ("POST script", '[{"do": "hang", "often": 1}]', 400, "Allowed: match, times"),
    ("POST script", '[{"do": "hang", "times": 0}]', 400, "1 or more"),
    ("POST script", '[{"do": "hang", "match": {"x": "y"}}]', 400, "model, contains"),
    ("POST script", '[{"do": "status", "status": 99}]', 400, "200 to 599"),
    ("POST script", '[{"do": "drip", "pause_seconds": "1"}]', 400, "wrong type"),
    ("GET ledger/requests?limit=x", None, 400, "whole number"),
    ("GET ledger/requests?limit=0", None, 400, "at least 1"),
    ("GET ledger/requests?page=1", None, 400, "Allowed: after, limit"),
    ("GET reset", None, 405, "takes only: POST"),
    ("GET nothing", None, 404, "GET /control/ledger"),
)
async def test_a_wrong_control_request_is_told_what_is_allowed(client, asked, body, status, told):
    method, path = asked.split()
    async with client.request(method, f"/control/{path}", data=body) as response:
        assert response.status == status
        assert told in (await response.json())["error"]


async def test_settings_and_a_script_are_read_and_a_reset_keeps_the_former(client, simulator):
    async with client.put("/control/settings", json={"latency_ms": 5, "rpm": 10}) as response:
        assert response.status == 200
    async with client.get("/control/settings") as response:
        settings = await response.json()
    assert (settings["latency_ms"], settings["rpm"], settings["jitter"]) == (5, 10, 0.3)
    simulator.change(rpm=None)
    assert "x-ratelimit-limit-requests" not in (await ask(client, "hi")).headers
    simulator.play({"match": {"contains": "x"}, "times": 2, "do": "status", "status": 503})
    await ask(client, "x")
    async with client.get("/control/script") as response:
        left = (await response.json())["script"]
    assert left == [{"match": {"contains": "x"}, "times": 1, "do": "status", "status": 503}]
    simulator.change(rpm=1)
    simulator.play({"do": "hang"})
    simulator.reset()
    assert [(await ask(client, "hi")).status for _ in range(2)] == [200, 429]


async def test_nobody_reads_or_changes_anything_without_the_secret(simulator):
    simulator.play({"do": "hang"})
    before = simulator.change(latency_ms=5)
    closed = [control for control in CONTROLS if control != ("GET", "/control/health")]
    given = ["", "Bearer ", "Bearer wrong", "Basic x", "Bearer \xff"]
    opened = []
    async with aiohttp.ClientSession(simulator.url) as stranger:
        for (method, path), key in product(closed, given):
            headers = {"Authorization": key} if key else {}
            async with stranger.request(method, path, headers=headers, data="[]") as response:
                if response.status != 401 or "latency_ms" in await response.text():
                    opened.append((method, path, key))
    assert opened == []
    assert simulator.change() == before


async def test_a_page_in_a_browser_is_refused_also_with_the_secret(client):
    by_address = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
    by_pages = [{"Origin": "https://evil.example"}, {"Origin": "null"}]
    for headers in [*by_pages, {"Sec-Fetch-Site": "cross-site"}, by_address]:
        async with client.post("/control/reset", headers=headers) as response:
            assert response.status == 403, headers
            assert "Access-Control-Allow-Origin" not in response.headers
        async with client.get("/control/health", headers=headers) as response:
            assert response.status == 403, headers
    async with client.get("/control/health") as response:
        assert await response.json() == {"ok": True}


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
