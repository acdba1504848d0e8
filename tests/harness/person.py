"""Somebody who uses a site: does through its services what tests/harness/wishes.py can.

A process of its own: Django knows one database, and every site under test has another.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from tests.harness.processes import end_with_the_tests


class Person:
    """The process starts at once, beside whatever else does."""

    def __init__(self, env: Mapping[str, str]) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._process = ProcessPoolExecutor(1, spawning, live_in, (dict(env),))
        self._process.submit(os.getpid)

    def ask(self, what: str, **values: Any) -> Any:
        """Raises what the wish raises."""
        return self._process.submit(grant, what, values).result()

    def close(self) -> None:
        self._process.shutdown()


def live_in(env: Mapping[str, str]) -> None:
    """Before the process loads anything of the site."""
    threading.Thread(target=end_with_the_tests, daemon=True).start()
    os.environ.clear()
    os.environ.update(env)
    import django

    django.setup()


def grant(what: str, values: Mapping[str, Any]) -> Any:
    from django.db import connections

    from tests.harness import wishes

    do: Callable[..., Any] = getattr(wishes, what)
    try:
        return do(**values)
    finally:
        connections.close_all()  # the database may be another process by the next wish
