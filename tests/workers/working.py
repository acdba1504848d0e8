"""Real worker processes for tests, on the tests' own database, and ways to wait for them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection

from runs.models import Run

ROOT = Path(__file__).resolve().parents[2]


def worker_environment() -> dict[str, str]:
    """The environment of the tests, but with the test database as the database."""
    name = str(connection.settings_dict["NAME"])
    url = f"sqlite:///{name.lstrip('/')}"
    if connection.vendor == "postgresql":
        url = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))
    return {
        **os.environ,
        "DATABASE_URL": url,
        "EVALSITE_DATA": str(settings.EVALSITE_DATA),
        "EVALSITE_SIMULATOR_URL": settings.SIMULATOR_URL,
    }


@contextmanager
def running_worker(threads: int = 4) -> Iterator[subprocess.Popen[str]]:
    """`manage.py work`, ready for messages; stopped by SIGTERM at the end if it still lives."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "work", f"--threads={threads}", "--skip-checks"],
        cwd=ROOT,
        env=worker_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "Worker ready" in process.stdout.readline()
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for another process's doing."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"Not within {seconds} s."
        time.sleep(0.02)


def finish(run: Run, seconds: float = 60) -> Run:
    """Wait until the workers have finished a run."""

    def is_finished() -> bool:
        run.refresh_from_db()
        return run.is_finished

    wait_until(is_finished, seconds)
    return run
