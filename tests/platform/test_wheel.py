"""The wheel in an empty virtual environment: everything is in it, and nothing of the checkout."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from evalsite.embedded.loose_parts import LoggedProcess
from evalsite.env import BASE_DIR
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.site import READY, SETUP

pytestmark = [pytest.mark.late, pytest.mark.timeout(600)]

UV = Path(sys.executable).parent / "uv"
SET_UP = runpy.run_path(str(BASE_DIR / "scripts" / "set_up.py"))
OF_THE_TESTS = ("PYTHON", "EVALSITE_", "REDIS_URL", "DATABASE_URL", "DJANGO_", "VIRTUAL_ENV")


class Installed:
    """`evalsite` of a wheel, and an empty home and folder to use it in."""

    def __init__(self, place):
        self.place, venv = place, place / "venv"
        self.home, self.folder = place / "home", place / "folder"
        self.home.mkdir()
        self.folder.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(OF_THE_TESTS)}
        self.environment = {**kept, "HOME": str(self.home), "OLLAMA_HOST": "127.0.0.1:1"}
        self.environment["EVALSITE_WORKERS"] = "1"
        self.environment.pop("XDG_DATA_HOME", None)
        self.program = venv / "bin" / "evalsite"
        wheels = place / "wheels"
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels]
        subprocess.run(build, cwd=BASE_DIR, check=True, capture_output=True)
        [wheel] = wheels.iterdir()
        env = {**SET_UP["uv_environment"](Path(sys.executable)), "VIRTUAL_ENV": str(venv)}
        lock = BASE_DIR / "requirements" / "run.lock"
        for words in (
            ["venv", venv],
            ["pip", "install", "--require-hashes", "-r", lock],  # compiled as far as it is used
            ["pip", "install", "--no-deps", wheel],
            ["pip", "check"],  # what it declares is what the lock has
        ):
            subprocess.run([UV, "--quiet", *words], check=True, env=env)

    def run(self, *words):
        return subprocess.run(
            [self.program, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )


def test_it_is_installed_runs_a_file_at_once_and_serves_every_file(tmp_path):
    installed = Installed(tmp_path)
    assert "evalsite COMMAND --help" in installed.run("--help").stdout
    (installed.folder / "workers.py").write_text("raise SystemExit('not ours')")
    assert installed.run("init").returncode == 0
    ran = installed.run("run", "evals.yaml", "--json")
    assert ran.returncode == 0, ran.stderr
    done = json.loads(ran.stdout.splitlines()[-1])
    assert done["counts"]["done"] == 12
    data = installed.home / ".local" / "share" / "evalsite"
    assert Path(done["results"]).parent == data / "results"
    check_pages(installed)
    assert (data / "evalsite.sqlite3").exists()


def check_pages(installed):
    """Templates, styles, scripts and the browser packages come with it."""
    argv = ["env", "--chdir", installed.folder, installed.program, "serve", "--port", "0"]
    place, patience = installed.place, PATIENCE_SECONDS
    serve = LoggedProcess("serve", argv, installed.environment, place, ready_seconds=patience)
    try:
        url, page = serve.wait_for(READY), fetch(serve.wait_for(SETUP))
        for path in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
            assert fetch(url + path), path
        assert fetch(f"{url}/static/uplot/uPlot.min.css")
        serve.signal(signal.SIGINT)
        assert serve.popen.wait(PATIENCE_SECONDS) == 0, serve.text
    finally:
        serve.kill()


def fetch(url):
    with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
        return str(answer.read().decode())
