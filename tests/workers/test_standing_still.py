"""A worker that stood still does not take back leases, its own among them, before they can be
renewed."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from runs.services.chunks.leases import LEASE, SWEEP_SECONDS
from workers import runtime

FROZEN_SECONDS = LEASE.total_seconds() + 1


class Ended(Exception):
    pass


class Machine:
    """Sleeps as long as it is told to, once longer; notes when leases may be taken back."""

    def __init__(self, sleeps: list[float]) -> None:
        self.now = 1000.0
        self.sleeps = sleeps
        self.may_reclaim: list[bool] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds == SWEEP_SECONDS
        if not self.sleeps:
            raise Ended
        self.now += self.sleeps.pop(0)

    async def in_database(self, work: Any) -> None:
        if work is not runtime.ask_database:
            self.may_reclaim.append(work.keywords["may_reclaim"])


async def test_leases_are_left_alone_for_the_time_of_a_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calm = [SWEEP_SECONDS] * 5
    machine = Machine([SWEEP_SECONDS, FROZEN_SECONDS, *calm])
    monkeypatch.setattr(runtime, "time", machine)
    monkeypatch.setattr(runtime, "asyncio", SimpleNamespace(sleep=machine.sleep))
    monkeypatch.setattr(runtime, "in_database", machine.in_database)
    with pytest.raises(Ended):
        await runtime.Runtime._sweep(cast(runtime.Runtime, None))
    assert machine.may_reclaim == [True, True, *[False] * 5, True]
