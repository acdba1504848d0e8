"""Rows 1 to 8: workers die, freeze, are stopped, or are killed by what they work on."""

from __future__ import annotations

import json
import time

from tests.faults.processes import Process
from tests.faults.stage import Act, Load, Stage
from workers.simulator.demo import DEMO_PROMPTS, make_questions

SHORT = Load(trials=240, latency_ms=150, slots=10)
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
    act.check(wasted=2 * act.load.slots)  # two workers: in flight, and answered but not yet stored


CRASH_PLACES = ("after_lease", "after_answer", "after_write")
MOST_TIMES = {"after_lease": 12, "after_answer": 60, "after_write": 4}  # before a crash
CRASH_CODE = 9


def crash_at_failpoints(stage: Stage) -> None:
    """Row 3: workers crash after a lease, after an answer, after a write, and are started again.

    One healthy worker goes on beside them, or nothing would ever be done.
    """
    wanted = 100 if stage.is_full else 1
    load = stage.load(Load(240, 200, 12), Load(1998, 300, 12))
    cluster = stage.cluster
    everybody, cluster.workers = cluster.workers, cluster.workers[:1]
    for worker in everybody[1:]:
        worker.kill()
    crashes = runs = 0
    crew = Crew(stage)
    try:
        for place in CRASH_PLACES:
            crew.place, crew.fallen = place, 0
            while crew.fallen < wanted:
                act = stage.launch(load)
                crew.crash_until_over(act, wanted)
                act.finish(180)
                act.check()
                runs += 1
            crashes += crew.fallen
    finally:
        crew.close()
        cluster.workers = everybody
    stage.verdict.figure("runs", runs)
    stage.verdict.at_least("crashes", crashes, len(CRASH_PLACES) * wanted)


class Crew:
    """Two workers that crash at a place, sooner or later, and are started again each time."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.place = CRASH_PLACES[0]
        self.fallen = 0
        self._members: list[Process] = []

    def crash_until_over(self, act: Act, wanted: int) -> None:
        while self.fallen < wanted and not act.is_over():
            fallen = [member for member in self._members if not member.is_alive]
            self.fallen += sum(member.popen.returncode == CRASH_CODE for member in fallen)
            alive = [member for member in self._members if member.is_alive]
            self._members = alive + [self._recruit() for _ in range(2 - len(alive))]
            time.sleep(0.05)
        self.close()

    def _recruit(self) -> Process:
        times = self._stage.random.randint(1, MOST_TIMES[self.place])
        point = f"{self.place}:{times}"
        return self._stage.cluster.add_worker(EVALSITE_FAILPOINT=point)

    def close(self) -> None:
        for member in self._members:
            member.kill()
        self._members = []


def freeze_worker(stage: Stage) -> None:
    """Row 4: a worker is frozen for longer than its lease, and goes on."""
    act = stage.launch(stage.load(Load(150, 300, 10), Load(2991, 700, 20)))
    act.wait_for_share(0.3)
    victim = stage.nemesis.busy_worker()
    frozen = stage.nemesis.freeze(victim)
    try:
        act.wait_for(lambda: not stage.nemesis.leases_of(victim), 60, "leases taken back")
        stage.verdict.figure("resumed_seconds", time.monotonic() - frozen, most=40)
        while stage.is_full and not act.is_over() and time.monotonic() < frozen + 60:
            time.sleep(0.1)
    finally:
        stage.nemesis.thaw(victim)
    act.finish(120)
    act.wait_for(lambda: not stage.nemesis.leases_of(victim), 30, "the frozen one lets go")
    stage.verdict.at_least("results_discarded", discarded(stage, act), 1)
    act.check(wasted=2 * act.load.slots)  # what it had in flight, and what it held unwritten


def discarded(stage: Stage, act: Act) -> int:
    rows = stage.cluster.truth.rows(
        f"SELECT data FROM runs_runevent WHERE run_id = {act.run} AND kind = 'discarded'"
    )
    data = [json.loads(row[0]) if isinstance(row[0], str) else row[0] for row in rows]
    return sum(entry["scores"] for entry in data)


def poison(stage: Stage) -> None:
    """Row 5: one trial kills every worker that works on it."""
    load = stage.load(Load(60, 20, 10), Load(996, 50, 20))
    cluster = stage.cluster
    healthy = cluster.workers
    for worker in healthy:
        worker.kill()
    cluster.workers = []
    question = make_questions(load.trials)[7].question
    word = "POISON"
    try:
        act = stage.launch(load, prompts=[DEMO_PROMPTS[0]._asdict()], is_known=False)
        cluster.simulator.play(
            {"match": {"contains": question}, "times": None, "do": "answer", "answer": word}
        )
        frail = {"EVALSITE_FAILPOINT": f"after_answer:~{word}"}
        cluster.workers = [cluster.add_worker(**frail) for _ in range(2)]
        deaths = keep_alive_until_over(stage, act, 300)
    finally:
        for worker in cluster.workers:
            worker.kill()
        cluster.workers = healthy
    act.finish(1)
    stage.verdict.figure("workers_killed", deaths)
    failed = cluster.truth.rows(
        f"SELECT error_class, error_message FROM runs_score"
        f" WHERE run_id = {act.run} AND error_class <> ''"
    )
    stage.verdict.figure("given_up", len(failed), most=1)
    wanted = [("poison", "Its worker died 3 times while working on it.")]
    stage.verdict.expect(failed == wanted, f"the failed trials are {failed}")
    act.check(same_table=False, state=("completed_with_errors",))


def keep_alive_until_over(stage: Stage, act: Act, seconds: float) -> int:
    """Start again what dies, as `serve` does; how often that was."""
    deaths = 0
    deadline = time.monotonic() + seconds
    while not act.is_over() and time.monotonic() < deadline:
        for worker in stage.cluster.workers:
            if not worker.is_alive:
                deaths += 1
                worker.start_again()
        time.sleep(0.05)
    return deaths


def terminate_worker(stage: Stage) -> None:
    """Row 7: SIGTERM under load."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    victim = stage.nemesis.busy_worker()
    stage.nemesis.term(victim)
    stage.verdict.figure("exit_seconds", victim.wait(40), most=30)
    stage.verdict.figure("leases_left", stage.nemesis.leases_of(victim), most=0)
    act.finish(90)
    act.check(wasted=0)


def kill_everything(stage: Stage) -> None:
    """Row 48: kill -9 of web, workers and Redis; started again, the run finishes by itself."""
    cluster = stage.cluster
    assert cluster.web is not None
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    for part in [cluster.web, *cluster.workers, cluster.redis]:
        stage.nemesis.kill(part)
    calls = act.calls()
    stage.nemesis.start_redis()
    stage.nemesis.start_web()
    for worker in cluster.workers:
        worker.start_again()
    gap = act.wait_for(lambda: act.calls() > calls, 60, "the first new call")
    stage.verdict.figure("first_call_seconds", gap, most=45)
    act.finish(120)
    act.check(wasted=2 * act.load.slots)  # two workers: in flight, and answered but not yet stored
