"""Real worker processes for tests, on the tests' own database, and ways to wait for them."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection

from runs.models import Run
from tests.harness.patience import PATIENCE_SECONDS, wait_until
from tests.workers.forking import FORKS, work


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
def running_worker(threads: int = 4, also: str = "") -> Iterator[BaseProcess]:
    """`manage.py work`, ready for messages; stopped by SIGTERM at the end if it still lives."""
    printed, standard_output = FORKS.Pipe(duplex=False)
    worker = FORKS.Process(target=work, args=(threads, worker_environment(), standard_output, also))
    worker.start()
    standard_output.close()
    try:
        with open(printed.fileno(), closefd=False) as lines:
            assert "Worker ready" in lines.readline()
        yield worker
    finally:
        worker.terminate()
        worker.join(timeout=PATIENCE_SECONDS)
        if worker.exitcode is None:
            os.kill(int(worker.pid or 0), signal.SIGUSR1)  # has it say where it hangs
            worker.join(timeout=1)
            worker.kill()
            raise AssertionError(f"The worker did not stop within {PATIENCE_SECONDS:.0f} s.")
        printed.close()


def finish(run: Run) -> Run:
    """Wait until the workers have finished a run."""

    def is_finished() -> bool:
        run.refresh_from_db()
        return run.is_finished

    wait_until(is_finished)
    return run
