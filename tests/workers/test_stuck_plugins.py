"""Strategies of plug-ins that never come to an end, in a real worker."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Run, RunState
from runs.services.runs import cancel_run, create_run
from tests.harness.patience import PATIENCE_SECONDS
from tests.workers.working import finish, running_worker
from workers.engine.plugins import PLUGINS
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

PACKAGE = "tests.odd_strategies"  # importing it installs it: only while these tests run
EXIT_BROKEN = 70  # as sysexits.h names an internal error


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    import_module(PACKAGE).register()
    yield
    PLUGINS.clear()


def test_a_strategy_that_never_ends_fails_its_own_run_only(
    ada: User,
    document: dict[str, Any],
    selection: dict[str, Any],
    simulator: SimulatorClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVALSITE_WORKER_MEGABYTES", "1500")
    with running_worker(also=PACKAGE) as worker:
        for name in ("Spins", "Learns"):
            stuck = finish(create_run(ada, {**selection, "strategy": f"{PACKAGE}.{name}"}))
            assert stuck.state == RunState.FAILED
            assert f"The strategy {name} did not come to an end within 0.5 s." in stuck.reason
        hungry = finish(create_run(ada, {**selection, "strategy": f"{PACKAGE}.Devours"}))
        assert (hungry.state, "MemoryError" in hungry.reason) == (RunState.FAILED, True)
        other: Run = finish(create_run(ada, document))
        assert other.state == RunState.COMPLETED
        assert worker.is_alive()
        # Where no exception reaches it, the worker ends instead of doing nothing for ever.
        asleep = create_run(ada, {**selection, "strategy": f"{PACKAGE}.Sleeps"})
        worker.join(timeout=PATIENCE_SECONDS)
        assert worker.exitcode == EXIT_BROKEN
        assert cancel_run(asleep)
