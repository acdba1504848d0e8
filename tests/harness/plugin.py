"""pytest plugin: starts the real Redis (and PostgreSQL, if asked) before Django reads settings.

`EVALSITE_TEST_DATABASE=postgres pytest tests/runs` runs on PostgreSQL, plain pytest on SQLite.
REDIS_URL and DATABASE_URL, where set, are used instead of servers of our own. With `-n 4`
(pytest-xdist) each process has its own data folder, database and, always, Redis.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from evalsite.embedded.loose_parts import LooseParts
from evalsite.env import redis_url_file
from tests.harness.patience import PATIENCE_SECONDS

LAST_THREADS_SECONDS = 60.0

# Pages go on without a Redis that is silent for a quarter of a second. This one is only slow, when
# six tests share two cores; options of the address go before those of the code.
PATIENT_WITH_REDIS = "socket_timeout=600&socket_connect_timeout=600"

FOR_TESTS = {"EVALSITE_TEST_DATABASE", "EVALSITE_CHROMIUM"}

# Each of these has one site, or a few, one after the other.
SHARING_A_SITE = (
    r"tests/e2e/",
    r"tests/platform/test_web_sockets",
    r"tests/platform/test_redis_server",
    r"tests/faults/test_(answers|pages|people)",
    r"tests/faults/",
)

running = ExitStack()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """A wrapper, so that it comes before pytest-django loads the settings."""
    atexit.register(running.close)  # for the ends that pytest does not announce, as a bad conftest
    is_one_of_many = "PYTEST_XDIST_WORKER" in os.environ
    if is_one_of_many:  # pytest-xdist ignores Ctrl-C, and what is ignored stays so in children
        signal.signal(signal.SIGINT, lambda *_: None)
    hands_out = bool(early_config.known_args_namespace.numprocesses) and not is_one_of_many
    start_services(needs_redis=not hands_out, is_one_of_many=is_one_of_many)
    yield


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    from tests.harness.quick_django import make_quick

    make_quick()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    running.close()
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # it lives on until all the others are done, and is then ended by them
    threading.Thread(target=end_in_spite_of_threads, daemon=True).start()


def end_in_spite_of_threads() -> None:
    """A worker that a test forgot to stop would keep this process alive for ever: say so, fail."""
    time.sleep(LAST_THREADS_SECONDS)  # a process that ends as it should does not live so long
    left = {thread.name for thread in threading.enumerate() if not thread.daemon}
    names = ", ".join(sorted(left - {threading.main_thread().name}))
    print(f"\nFAILED: threads were left running by tests: {names}", file=sys.__stderr__, flush=True)
    os._exit(1)


def start_services(*, needs_redis: bool, is_one_of_many: bool) -> None:
    folder = Path(tempfile.mkdtemp(prefix="evalsite-tests-"))
    running.callback(shutil.rmtree, folder, ignore_errors=True)
    forget_own_settings()
    os.environ["EVALSITE_DATA"] = str(folder)
    if needs_redis and (is_one_of_many or not os.environ.get("REDIS_URL")):
        start_redis(folder)
    if os.environ.get("EVALSITE_TEST_DATABASE", "sqlite") != "postgres":
        os.environ.pop("DATABASE_URL", None)
    elif not os.environ.get("DATABASE_URL"):
        from tests.harness.postgres import PostgresServer

        os.environ["DATABASE_URL"] = running.enter_context(PostgresServer()).url_for()


def forget_own_settings() -> None:
    """What a person set for their own site must not change what the tests see."""
    for name in [name for name in os.environ if name.startswith("EVALSITE_")]:
        if name not in FOR_TESTS:
            del os.environ[name]


def start_redis(folder: Path) -> None:
    parts = LooseParts(folder, os.environ, ready_seconds=PATIENCE_SECONDS)
    running.callback(parts.start_redis().kill)
    parts.wait_for_redis()
    redis_url_file(folder).unlink()  # only for us, by the environment
    os.environ["REDIS_URL"] = f"{parts.env['REDIS_URL']}?{PATIENT_WITH_REDIS}"


class SideBySide(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Every test goes to whoever is free; stories that share one site stay together.

    (pytest-xdist's own groups do nothing with pytest 9.2: it no longer lets them rename tests.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return next((start for start in SHARING_A_SITE if re.match(start, nodeid)), nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SideBySide:
    return SideBySide(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and thousands of tests are made, and all of them stay: looking for rubbish among
    them, now and at every later turn of the collector, would cost seconds and find nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whole-system stories (`late`) go to the end; to the front if others go on beside them."""
    leave_out_what_no_database_changes(config, items)
    is_shared = "PYTEST_XDIST_WORKER" in os.environ
    items.sort(key=lambda item: (item.get_closest_marker("late") is not None) != is_shared)


def leave_out_what_no_database_changes(config: pytest.Config, items: list[pytest.Item]) -> None:
    """SQLite runs everything; PostgreSQL only what is marked with the reason why it may differ."""
    for item in items:
        if (marker := item.get_closest_marker("postgresql")) and not marker.args:
            raise pytest.UsageError(f"{item.nodeid}: say why: postgresql('locks: two at once').")
    if os.environ.get("EVALSITE_TEST_DATABASE", "sqlite") == "sqlite":
        return
    chosen = {item for item in items if item.get_closest_marker("postgresql")}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def pytest_report_header() -> str:
    database = os.environ.get("EVALSITE_TEST_DATABASE", "sqlite")
    return f"evalsite: database {database}, data in {os.environ['EVALSITE_DATA']}"
