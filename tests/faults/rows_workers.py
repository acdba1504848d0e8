"""Rows 1 to 8: workers die, freeze, are stopped, or are killed by what they work on."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence

from tests.faults.processes import Process
from tests.faults.stage import Act, Load, Stage
from workers.simulator.demo import DEMO_PROMPTS, make_questions

SHORT = Load(trials=240, latency_ms=150, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)


def kill_one_worker(stage: Stage) -> None:
    """Row 1: kill -9 of one of two workers at 30 %."""
    act = stage.launch(stage.load(SHORT, STANDARD), held_at=0.3)
    act.wait_for_share(0.3)
    victim = stage.nemesis.busy_worker()
    stage.verdict.figure("leases_lost", stage.nemesis.leases_of(victim))
    stage.nemesis.kill(victim)
    act.let_go()
    resumed = act.wait_for(lambda: not stage.nemesis.leases_of(victim), 60, "leases taken back")
    stage.verdict.figure("resumed_seconds", resumed, most=40)
    act.finish(90)
    # A busy machine stores answers later than ten times a second.
    act.check(wasted=act.load.slots if stage.is_full else 2 * act.load.slots)


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
MOST_TIMES_SHORT = {"after_lease": 2, "after_answer": 10, "after_write": 2}
CRASH_CODE = 9


def crash_at_failpoints(stage: Stage) -> None:
    """Row 3: workers crash after a lease, after an answer, after a write, and are started again.

    One healthy worker goes on beside them, or nothing would ever be done.
    """
    wanted = 100 if stage.is_full else 1
    crews = [(place, place) for place in CRASH_PLACES] if stage.is_full else [CRASH_PLACES]
    load = stage.load(Load(240, 300, 12), Load(1998, 300, 12))
    cluster = stage.cluster
    everybody, cluster.workers = cluster.workers, cluster.workers[:1]
    for worker in everybody[1:]:
        worker.kill()
    stage.reference(stage.document(load))  # before there is a crew to spoil it
    crashes = runs = 0
    try:
        for places in crews:
            crew = Crew(stage, places, wanted)
            while not crew.is_done():
                crew.crash_in_a_run(load)
                runs += 1
            crashes += crew.fallen.total()
    finally:
        cluster.workers = everybody
    stage.verdict.figure("runs", runs)
    stage.verdict.at_least("crashes", crashes, len(CRASH_PLACES) * wanted)


class Crew:
    """Workers that crash at a place each, sooner or later, and are started again each time."""

    def __init__(self, stage: Stage, places: Sequence[str], wanted: int) -> None:
        self._stage = stage
        self._places = places
        self._wanted = wanted  # crashes at every place
        self._most_times = MOST_TIMES if stage.is_full else MOST_TIMES_SHORT
        self._members: dict[int, Process] = {}  # by their seat, which has a place
        self.fallen: Counter[str] = Counter()

    def is_done(self) -> bool:
        return all(self.fallen[place] >= self._wanted for place in self._places)

    def crash_in_a_run(self, load: Load) -> None:
        try:
            self._replace_fallen()
            for member in self._members.values():
                member.wait_ready()
            act = self._stage.launch(load)
            while not self.is_done() and not act.is_over():
                self._replace_fallen()
                time.sleep(0.05)
        finally:
            for member in self._members.values():
                member.kill()
            self._members.clear()
        act.finish(180)
        act.check()

    def _replace_fallen(self) -> None:
        for seat, place in enumerate(self._places):
            member = self._members.get(seat)
            if member is not None and not member.is_alive:
                self.fallen[place] += member.popen.returncode == CRASH_CODE
                del self._members[seat]
            if seat not in self._members and self.fallen[place] < self._wanted:
                self._members[seat] = self._recruit(place)

    def _recruit(self, place: str) -> Process:
        times = self._stage.random.randint(1, self._most_times[place])
        return self._stage.cluster.add_worker(EVALSITE_FAILPOINT=f"{place}:{times}")


def freeze_worker(stage: Stage) -> None:
    """Row 4: a worker is frozen for longer than its lease, and goes on."""
    act = stage.launch(stage.load(Load(150, 300, 10), Load(2991, 700, 20)), held_at=0.3)
    act.wait_for_share(0.3)
    victim = stage.nemesis.busy_worker()
    frozen = stage.nemesis.freeze(victim)
    # In the short tier slowly, or the run may end before the frozen one is back.
    act.let_go(latency_ms=act.load.latency_ms if stage.is_full else 2000)
    try:
        act.wait_for(lambda: not stage.nemesis.leases_of(victim), 60, "leases taken back")
        stage.verdict.figure("resumed_seconds", time.monotonic() - frozen, most=40)
        while stage.is_full and not act.is_over() and time.monotonic() < frozen + 60:
            time.sleep(0.1)
    finally:
        stage.nemesis.thaw(victim)
        stage.cluster.simulator.change(latency_ms=act.load.latency_ms)
    act.finish(120)
    act.wait_for(lambda: not stage.nemesis.leases_of(victim), 30, "the frozen one lets go")
    least = 1 if stage.is_full else 0  # in so few seconds it may have had nothing unwritten
    stage.verdict.at_least("results_discarded", discarded(stage, act), least)
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
    act = stage.launch(stage.load(SHORT, STANDARD), held_at=0.3)
    act.wait_for_share(0.3)
    victim = stage.nemesis.busy_worker()
    stage.nemesis.term(victim)
    act.let_go()
    stage.verdict.figure("exit_seconds", victim.wait(40), most=30)
    stage.verdict.figure("leases_left", stage.nemesis.leases_of(victim), most=0)
    act.finish(90)
    act.check(wasted=0)


def kill_everything(stage: Stage) -> None:
    """Row 48: kill -9 of web, workers and Redis; started again, the run finishes by itself."""
    cluster = stage.cluster
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
