"""Starts commands quickly: forked from a process that has loaded the site already.

Imports nothing of the site: a new process loads this module before it knows its settings.
"""

import faulthandler
import importlib
import multiprocessing
import os
import runpy
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from tests.harness.processes import end_with_the_tests

ROOT = Path(__file__).resolve().parents[2]

# Importing is most of a worker's start. Workers are forked from a process that has done so; what
# depends on the environment each reads anew, as after any start.
FORKS = multiprocessing.get_context("forkserver")
# What the site imports late; the last one loads all the rest.
LATE = ["argon2", "channels_redis.pubsub", "csp.middleware", "django.db.backends.postgresql.base"]
LATE += ["psycopg_pool", "pytest", "whitenoise.middleware"]
FORKS.set_forkserver_preload([*LATE, "tests.workers.loaded_site"])


def work(
    threads: int, environment: dict[str, str], standard_output: Connection, also: str = ""
) -> None:
    """In the new process: what a shell does; `also` registers something first, as a kind."""
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(standard_output.fileno(), 1)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    threading.Thread(target=end_with_the_tests, daemon=True).start()
    importlib.import_module("tests.workers.loaded_site").begin_anew()
    if also:
        importlib.import_module(also).register()
    sys.argv = ["manage.py", "work", f"--threads={threads}", "--skip-checks"]
    runpy.run_path(str(ROOT / "manage.py"), run_name="__main__")
