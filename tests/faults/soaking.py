"""Mixes faults at random for a given time, one after the other, while runs go on."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable

from tests.faults.audience import Audience
from tests.faults.checker import Verdict
from tests.faults.cluster import Cluster, Shape, TooLate
from tests.faults.rows_live import check_pages, watching
from tests.faults.stage import Act, Load, Stage

LOAD = Load(trials=900, latency_ms=150, slots=20)
PAGES = 5  # that look on at each run
PAGE_SECONDS = 60.0
RUN_SECONDS = 300.0  # in which a run must end, whatever is done to it


def soak(seconds: float, seed: int) -> int:
    """Rows 1, 4, 9, 13, 20, 21 and 38, drawn by the seed. How many runs were hurt."""
    cluster = Cluster(Shape(database="postgres"))
    stage = Stage(cluster, seed, is_full=True)
    done: Counter[str] = Counter()
    broken = runs = 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            stage.verdict = Verdict()
            act = stage.launch(LOAD)
            with watching(stage, act, PAGES) as audience:
                harm(stage, act, done, end)
                runs += 1
                broken += not is_whole(stage, act, audience)
    finally:
        cluster.close()
    total = {"row": "47", "seed": seed, "seconds": seconds, "runs": runs, "violations": broken}
    print(json.dumps({**total, "faults": dict(done)}), flush=True)
    return int(broken > 0)


def is_whole(stage: Stage, act: Act, audience: Audience) -> bool:
    """Nothing may be missing, doubled or different, however many faults there were, and every open
    page knows it."""
    try:
        act.finish(RUN_SECONDS)
        act.wait_for(audience.has_ended, PAGE_SECONDS, "I9: the pages know of the end")
        check_pages(stage, act, audience)
        act.check()
    except TooLate as late:
        stage.verdict.violations.append(str(late))
    found = {"run": act.run, "figures": stage.verdict.figures}
    print(json.dumps({**found, "violations": stage.verdict.violations}), flush=True)
    return not stage.verdict.violations


def harm(stage: Stage, act: Act, done: Counter[str], end: float) -> None:
    """Faults in a random order and rhythm until the run is over."""
    while not act.is_over() and time.monotonic() < end:
        time.sleep(stage.random.uniform(0.5, 4.0))
        name = stage.random.choice(list(HARMS))
        HARMS[name](stage)
        done[name] += 1
        for worker in stage.cluster.workers:
            if not worker.is_alive:
                worker.start_again()


def kill_worker(stage: Stage) -> None:
    stage.nemesis.kill(stage.random.choice(stage.cluster.workers))


def freeze_worker(stage: Stage) -> None:
    worker = stage.random.choice(stage.cluster.workers)
    stage.nemesis.freeze(worker)
    time.sleep(stage.random.uniform(1.0, 25.0))
    stage.nemesis.thaw(worker)


def restart_redis(stage: Stage) -> None:
    stage.nemesis.kill(stage.cluster.redis)
    time.sleep(stage.random.uniform(0.0, 5.0))
    stage.nemesis.start_redis()


def restart_postgres(stage: Stage) -> None:
    stage.nemesis.crash_postgres()
    time.sleep(stage.random.uniform(0.0, 5.0))
    stage.nemesis.start_postgres()


def outage(stage: Stage) -> None:
    simulator = stage.cluster.simulator
    simulator.play({"match": {}, "times": None, "do": "status", "status": 503})
    time.sleep(stage.random.uniform(1.0, 10.0))
    simulator.play()


def storm(stage: Stage) -> None:
    stage.cluster.simulator.change(max_in_flight=10)
    time.sleep(stage.random.uniform(1.0, 10.0))
    stage.cluster.simulator.change(max_in_flight=None)


def kill_web(stage: Stage) -> None:
    stage.nemesis.kill(stage.cluster.web)
    stage.nemesis.start_web()


HARMS: dict[str, Callable[[Stage], None]] = {
    "1 kill worker": kill_worker,
    "4 freeze worker": freeze_worker,
    "9 restart Redis": restart_redis,
    "13 restart PostgreSQL": restart_postgres,
    "20 outage": outage,
    "21 storm of 429": storm,
    "38 kill web": kill_web,
}
