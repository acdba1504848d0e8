"""Mixes faults at random for a given time, one after the other, while runs go on: `make soak`."""

import json
import signal
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPException

import pytest

from scripts.poisons import poisons
from tests.faults.stage import Load, TooLate
from tests.faults.test_pages import Audience

LOAD = Load(trials=900, latency_ms=150, slots=20)
PAGES = 5  # that look on at each run
RUN_SECONDS = 300.0  # in which a run must end, whatever is done to it


@pytest.mark.row(
    "47",
    "rows 1, 4, 9, 13, 20, 21, 38 and poisons, drawn by the seed",
    "nothing is missing, doubled or different, and every open page knows it",
    on="postgres",
)
def test_faults_at_random(stage, pytestconfig):
    done: Counter[str] = Counter()
    broken, runs = [], 0
    end = time.monotonic() + pytestconfig.getoption("--soak")
    while time.monotonic() < end:
        stage.figures, stage.violations = {}, []
        act = stage.launch(LOAD, None)
        with Audience(act, PAGES) as audience:
            harm(act, done, end)
            look_at(act, audience)
        runs += 1
        broken += stage.violations
        told = {"run": act.run, "figures": stage.figures, "violations": stage.violations}
        print(json.dumps(told), flush=True)
    stage.figures, stage.violations = {"runs": runs, **done}, broken


def look_at(act, audience):
    """However many faults there were."""
    try:
        act.finish(RUN_SECONDS)
        audience.check()
        act.check()
    except TooLate as late:
        act.stage.violations.append(str(late))


def harm(act, done, end):
    """Faults in a random order and rhythm until the run is over."""
    random = act.stage.random
    while not act.is_over() and time.monotonic() < end:
        time.sleep(random.uniform(0.5, 4.0))
        name = random.choice(list(HARMS))
        HARMS[name](act.stage)
        done[name] += 1
        for worker in act.site.workers:
            if not worker.is_alive:
                worker.start_again()


def lasting(stage, most, least=0.0):
    """How long a fault lasts."""
    time.sleep(stage.random.uniform(least, most))


def kill_worker(stage):
    stage.random.choice(stage.site.workers).kill()


def freeze_worker(stage):
    worker = stage.random.choice(stage.site.workers)
    stage.freeze(worker)
    lasting(stage, 25.0, least=1.0)
    worker.signal(signal.SIGCONT)


def restart_redis(stage):
    stage.site.redis.kill()
    lasting(stage, 5.0)
    stage.site.start_again(stage.site.redis)


def restart_postgres(stage):
    stage.site.postgres.crash()
    lasting(stage, 5.0)
    stage.site.postgres.launch()


def outage(stage):
    stage.site.simulator.play({"match": {}, "times": None, "do": "status", "status": 503})
    lasting(stage, 10.0, least=1.0)
    stage.site.simulator.play()


def storm(stage):
    stage.site.simulator.change(max_in_flight=10)
    lasting(stage, 10.0, least=1.0)
    stage.site.simulator.change(max_in_flight=None)


def kill_web(stage):
    stage.site.web.kill()
    stage.site.start_again(stage.site.web)


def send_poison(stage):
    """What is looked at, not run: its calls would be counted with those of the run."""
    poison = stage.random.choice([one for one in poisons() if one.route == "/runs/estimate"])
    with suppress(OSError, HTTPException):  # the web server may be away just now
        stage.site.visitor.post(poison.route, poison.body)


HARMS = {
    "0 poison": send_poison,
    "1 kill worker": kill_worker,
    "4 freeze worker": freeze_worker,
    "9 restart Redis": restart_redis,
    "13 restart PostgreSQL": restart_postgres,
    "20 outage": outage,
    "21 storm of 429": storm,
    "38 kill web": kill_web,
}
