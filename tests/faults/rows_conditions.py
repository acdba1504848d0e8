"""Rows 6, 34 and 46: too little memory, wrong clocks, and networks that part one worker alone."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.faults.clocks import WrongClock, build_shim
from tests.faults.gates import Gate
from tests.faults.processes import Process
from tests.faults.stage import Load, Stage
from tests.harness.postgres import SUPERUSER
from workers.simulator.demo import DEMO_PROMPTS, make_questions

SHORT = Load(trials=300, latency_ms=100, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)
HOUR = 3600
LARGE_ANSWER = "4" * 2_000_000


def starve_worker(stage: Stage) -> None:
    """Row 6: a worker gets no more memory and large answers, dies of it, and is started again."""
    load = stage.load(SHORT, STANDARD)
    rows = load.trials // len(DEMO_PROMPTS)
    large = [question.question for question in make_questions(rows)[-25:]]  # none before it starves
    orders = [
        {"match": {"contains": text}, "times": None, "do": "answer", "answer": LARGE_ANSWER}
        for text in large
    ]
    stage.reference(stage.document(load), orders)
    for worker in stage.cluster.workers:
        worker.kill()  # new ones have no memory to spare from earlier work
    act = stage.launch(load, orders=orders)
    act.wait_for_share(0.3)
    victim = stage.nemesis.busy_worker()
    stage.nemesis.starve(victim)
    act.wait_for(lambda: not victim.is_alive or act.is_over(), 60, "the end of the starved one")
    stage.verdict.expect(not victim.is_alive, "the starved worker lived to the end")
    stage.verdict.figure("exit_code", victim.popen.returncode or 0)
    victim.start_again()
    stage.verdict.figure("back_seconds", timed(victim.wait_ready), most=10)
    act.finish(120)
    # While it dies it may not be able to talk to Redis: it keeps to its half, the other has all.
    slots = act.load.slots + act.load.slots // 2
    act.check(slots=slots, wasted=2 * act.load.slots)


def timed(what: Callable[[], object]) -> float:
    began = time.monotonic()
    what()
    return time.monotonic() - began


@contextmanager
def other_workers(stage: Stage, *environments: dict[str, str]) -> Iterator[list[Process]]:
    """Workers that have these variables, in the place of the usual ones."""
    cluster = stage.cluster
    usual = cluster.workers
    for worker in usual:
        worker.kill()
    cluster.workers = [cluster.add_worker(**environment) for environment in environments]
    try:
        for worker in cluster.workers:
            worker.wait_ready()
        yield cluster.workers
    finally:
        for worker in cluster.workers:
            worker.kill()
        cluster.workers = usual


def wrong_clocks(stage: Stage) -> None:
    """Row 34: one worker's clock jumps an hour ahead, the other's an hour back, and both return."""
    library = build_shim(stage.cluster.folder)
    clocks = [WrongClock(library, name) for name in ("ahead", "behind")]
    with other_workers(stage, *(clock.environment for clock in clocks)):
        act = stage.launch(stage.load(SHORT, STANDARD))
        for share, jump in ((0.2, HOUR), (0.5, -HOUR), (0.8, 0)):
            act.wait_for_share(share)
            for clock, sign in zip(clocks, (1, -1), strict=True):
                clock.set(sign * jump)
        act.finish(120)
        truth = stage.cluster.truth
        negative = truth.count("runs_score", f"run_id = {act.run} AND latency_ms < 0")
        negative += truth.count("runs_run", f"id = {act.run} AND ended < started")
        stage.verdict.figure("negative_durations", negative, most=0)
        soon = "now() + interval '30 minutes'"
        ahead = truth.count("runs_score", f"run_id = {act.run} AND finished > {soon}")
        stage.verdict.figure("scores_dated_ahead", ahead, most=0)
        answers = truth.count("runs_cachedreply", f"created > {soon}")
        stage.verdict.at_least("answers_dated_ahead", answers, 1)  # the clock was wrong indeed
        act.check(wasted=0)


def part_one_worker(stage: Stage) -> None:
    """Row 46: one of two workers reaches neither Redis, for a while, nor later the database."""
    cluster = stage.cluster
    assert cluster.postgres is not None
    place = urlsplit(cluster.env["REDIS_URL"])
    to_redis = Gate((place.hostname or "", place.port or 0))
    folder = Path(tempfile.mkdtemp(prefix="evalsite-gate-"))
    to_database = Gate(str(cluster.postgres.folder / ".s.PGSQL.5432"), folder)
    parted = {
        "REDIS_URL": place._replace(netloc="{}:{}".format(*to_redis.address)).geturl(),
        "DATABASE_URL": f"postgresql://{SUPERUSER}@/postgres?host={folder}",
    }
    load = stage.load(SHORT, STANDARD._replace(trials=2997))
    try:
        with other_workers(stage, {}, parted) as workers:
            act = stage.launch(load)
            for share, gate in ((0.2, to_redis), (0.6, to_database)):
                act.wait_for_share(share)
                gate.shut()
                time.sleep(20 if stage.is_full else 8)  # longer than a lease
                gate.open()
            act.finish(180)
            stage.verdict.expect(all(worker.is_alive for worker in workers), "a worker died")
            for trouble in ("Consumer encountered a connection error", "error connecting in"):
                stage.verdict.expect(trouble in workers[1].words(), f"nobody said: {trouble}")
            act.check()
    finally:
        to_redis.close()
        to_database.close()
        shutil.rmtree(folder)
