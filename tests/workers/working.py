"""Real worker processes for tests, on the tests' own database, and ways to wait for them."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.process import BaseProcess

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runs.models import ChunkState, Endpoint, Run, RunState
from runs.services.chunks import planning
from runs.services.chunks.planning import advance_run
from runs.services.control.endpoint_pauses import reset_breaker
from tests.conftest import shared_redis
from tests.harness.patience import PATIENCE_SECONDS, wait_until
from tests.harness.site import environment_of_the_tests
from tests.workers.forking import FORKS, work


@contextmanager
def running_worker(threads: int = 4, also: str = "") -> Iterator[BaseProcess]:
    """`manage.py work`, ready for messages; stopped by SIGTERM at the end if it still lives."""
    printed, standard_output = FORKS.Pipe(duplex=False)
    worker = FORKS.Process(
        target=work, args=(threads, environment_of_the_tests(), standard_output, also)
    )
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
    wait_until(lambda: Run.objects.only("state").get(pk=run.pk).is_finished)
    run.refresh_from_db()
    return run


def finish_after_outage(run: Run, endpoint: Endpoint) -> Run:
    """Without waiting for the time of a breaker, and of what was set aside."""
    reset_breaker(User(is_staff=True), endpoint)

    def is_finished() -> bool:
        advance_run(run.pk)
        return Run.objects.only("state").get(pk=run.pk).is_finished

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "SET_ASIDE_FOR", timedelta())
        wait_until(is_finished)
    run.refresh_from_db()
    return run


def is_in(run: Run, *states: RunState) -> bool:
    """The run is as it was read then. It is asked often: of all its columns for one only."""
    is_there = Run.objects.filter(pk=run.pk, state__in=states).exists()
    if is_there:
        run.refresh_from_db()
    return is_there


def paused(run: Run) -> Run:
    """Wait until the workers have given back all of a run."""
    wait_until(lambda: is_in(run, RunState.PAUSED))
    return run


def kill(worker: BaseProcess, run: Run) -> int:
    """As if time had passed: its leases run out. How many chunks it held."""
    worker.kill()
    worker.join()
    past = timezone.now() - timedelta(seconds=1)
    for key in shared_redis().scan_iter("permits:expires:*"):
        names = [name.decode() for name in shared_redis().zrange(key, 0, -1)]
        if dead := [name for name in names if f":{worker.pid}:" in name]:
            shared_redis().zadd(key, dict.fromkeys(dead, 1))
    return run.chunks.filter(state=ChunkState.LEASED).update(lease_until=past)
