"""Rows 1 to 8: workers die, freeze, are stopped, or are killed by what they work on."""

from __future__ import annotations

import time

from tests.faults.stage import Load, Stage

SHORT = Load(trials=300, latency_ms=40, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)


def kill_one_worker(stage: Stage) -> None:
    """Row 1: kill -9 of one of two workers at 30 %."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    victim = stage.nemesis.busy_worker()
    stage.verdict.figure("leases_lost", stage.nemesis.leases_of(victim))
    stage.nemesis.kill(victim)
    resumed = act.wait_for(lambda: not stage.nemesis.leases_of(victim), 60, "leases taken back")
    stage.verdict.figure("resumed_seconds", resumed, most=40)
    act.finish(90)
    act.check(wasted=act.load.slots)


def kill_all_workers(stage: Stage) -> None:
    """Row 2: kill -9 of all workers, started again after a while."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    for worker in stage.cluster.workers:
        stage.nemesis.kill(worker)
    calls = act.calls()
    time.sleep(20 if stage.is_full else 1)
    for worker in stage.cluster.workers:
        worker.start_again()
    gap = act.wait_for(lambda: act.calls() > calls, 60, "the first new call")
    stage.verdict.figure("first_call_seconds", gap, most=45)
    act.finish(120)
    act.check(wasted=act.load.slots)
