"""Time for games that are played in the test's own process."""

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.engine.rollout import odd_players
from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.playing import agent_processes

HANGS_SECONDS = 100.0  # and more: a policy that is to be interrupted


@pytest.fixture
def held_time() -> Iterator[None]:
    """Only policies that sleep take time, and just as much as they say, however busy the machine
    is. Those that hang really do, until they are interrupted."""
    now, real_sleep = 1000.0, time.sleep

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        if seconds >= HANGS_SECONDS:
            real_sleep(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", lambda: now)
        patch.setattr(odd_players, "time", SimpleNamespace(sleep=sleep))
        patch.setattr(agent_processes, "GRACE_SECONDS", PATIENCE_SECONDS)
        yield
