"""pytest plugin: starts the real Redis (and PostgreSQL, if asked) before Django reads settings.

`EVALSITE_TEST_DATABASE=postgres pytest tests/runs` runs on PostgreSQL, plain pytest on SQLite.
REDIS_URL and DATABASE_URL, where set, are used instead of servers of our own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from evalsite.embedded import redis_server
from evalsite.embedded.child_processes import die_with_parent
from evalsite.env import redis_url_file

LAST_THREADS_SECONDS = 10.0

FOR_TESTS = {"EVALSITE_TEST_DATABASE", "EVALSITE_CHROMIUM"}

running = ExitStack()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None]:
    """A wrapper, so that it comes before pytest-django loads the settings."""
    atexit.register(running.close)  # for the ends that pytest does not announce, as a bad conftest
    start_services()
    yield


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    running.close()
    threading.Thread(target=end_in_spite_of_threads, daemon=True).start()


def end_in_spite_of_threads() -> None:
    """A worker that a test forgot to stop would keep this process alive for ever: say so, fail."""
    time.sleep(LAST_THREADS_SECONDS)  # a process that ends as it should does not live so long
    left = {thread.name for thread in threading.enumerate() if not thread.daemon}
    names = ", ".join(sorted(left - {threading.main_thread().name}))
    print(f"\nFAILED: threads were left running by tests: {names}", file=sys.__stderr__, flush=True)
    os._exit(1)


def start_services() -> None:
    folder = Path(tempfile.mkdtemp(prefix="evalsite-tests-"))
    running.callback(shutil.rmtree, folder, ignore_errors=True)
    forget_own_settings()
    os.environ["EVALSITE_DATA"] = str(folder)
    if not os.environ.get("REDIS_URL"):
        start_redis(folder)
    if os.environ.get("EVALSITE_TEST_DATABASE", "sqlite") == "postgres":
        start_postgres()
    else:
        os.environ.pop("DATABASE_URL", None)


def forget_own_settings() -> None:
    """What a person set for their own site must not change what the tests see."""
    for name in [name for name in os.environ if name.startswith("EVALSITE_")]:
        if name not in FOR_TESTS:
            del os.environ[name]


def start_redis(folder: Path) -> None:
    server = redis_server.prepare(folder)
    process = subprocess.Popen(
        server.argv,
        stdout=subprocess.DEVNULL,
        preexec_fn=die_with_parent(),  # noqa: PLW1509  # no threads yet
        start_new_session=True,  # Ctrl-C is for pytest; Redis is stopped after the tests
    )
    running.callback(process.wait)
    running.callback(process.kill)
    redis_server.wait_until_answering(server.url)
    redis_url_file(folder).unlink()  # only for us, by the environment
    os.environ["REDIS_URL"] = server.url


def start_postgres() -> None:
    if os.environ.get("DATABASE_URL"):
        return
    from tests.postgres import PostgresServer

    server = PostgresServer()
    running.callback(server.stop)
    server.start()
    os.environ["DATABASE_URL"] = server.url_for()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests first: whole-system stories (`late`) go to the end, in their order."""
    items.sort(key=lambda item: item.get_closest_marker("late") is not None)


def pytest_report_header() -> str:
    database = os.environ.get("EVALSITE_TEST_DATABASE", "sqlite")
    return f"evalsite: database {database}, data in {os.environ['EVALSITE_DATA']}"
