"""Workers die, freeze, are stopped, or are killed by what they work on."""

import signal
import time
from collections import Counter
from contextlib import nullcontext

import pytest

from tests.faults.stage import STANDARD, Load, other_workers, wait_for
from workers.simulator.demo import DEMO_PROMPTS, make_questions

SHORT = Load(trials=240, latency_ms=150, slots=10)
CRASH_PLACES = ("after_lease", "after_answer", "after_write")
MOST_TIMES = {"after_lease": 12, "after_answer": 60, "after_write": 4}  # before a crash
MOST_TIMES_SHORT = {"after_lease": 2, "after_answer": 10, "after_write": 2}
CRASH_CODE = 9


@pytest.mark.row(
    "1",
    "kill -9 of one of two workers at 30 %",
    "resumed within 40 s; wasted calls at most the slots",
    is_short=True,
)
def test_one_worker_is_killed(stage):
    act = stage.launch(SHORT, held_at=0.3, until=0.3)
    victim = stage.busy_worker()
    stage.figure("leases_lost", stage.leases_of(victim))
    victim.kill()
    act.let_go()
    resumed = wait_for(lambda: not stage.leases_of(victim), 60, "leases taken back")
    stage.figure("resumed_seconds", resumed, most=stage.bar(40))
    act.finish(90)
    # A busy machine stores answers later than ten times a second.
    act.check(wasted=act.load.slots if stage.is_full else 2 * act.load.slots)


@pytest.mark.row(
    "2", "kill -9 of all workers, started again after 20 s", "first call within 45 s of the start"
)
def test_all_workers_are_killed(stage):
    act = stage.launch(SHORT, until=0.3)
    for worker in stage.site.workers:
        worker.kill()
    calls = act.calls()
    time.sleep(20 if stage.is_full else 1)  # how long nobody works
    go_on(act, calls)


@pytest.mark.row(
    "48",
    "kill -9 of web, workers and Redis, all started again",
    "first call within 45 s of the start; finishes by itself",
)
def test_everything_is_killed(stage):
    site = stage.site
    act = stage.launch(SHORT, until=0.3)
    for part in [site.web, *site.workers, site.redis]:
        part.kill()
    calls = act.calls()
    site.start_again(site.redis)
    site.start_again(site.web)
    go_on(act, calls)


def go_on(act, calls):
    """All workers are started again, and the run finishes by itself."""
    for worker in act.site.workers:
        worker.start_again()
    gap = wait_for(lambda: act.calls() > calls, 60, "the first new call")
    act.stage.figure("first_call_seconds", gap, most=45)
    act.finish(120)
    act.check(wasted=2 * act.load.slots)  # two workers: in flight, and answered but not yet stored


@pytest.mark.row(
    "3",
    "crashes after a lease, after an answer, after a write (100 each)",
    "0 missing, 0 doubled",
    is_short=True,
)
def test_workers_crash_at_failpoints(stage):
    """And are started again. One healthy worker goes on beside them, or nothing would ever be
    done."""
    wanted = 100 if stage.is_full else 1
    crews = [(place, place) for place in CRASH_PLACES] if stage.is_full else [CRASH_PLACES]
    load = Load(STANDARD.trials if stage.is_full else 240, 300, 12)
    site = stage.site
    everybody, site.workers = site.workers, site.workers[:1]
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
        site.workers = everybody
    stage.figure("runs", runs)
    stage.figure("crashes", crashes, least=len(CRASH_PLACES) * wanted)


class Crew:
    """Workers that crash at a place each, sooner or later, and are started again each time."""

    def __init__(self, stage, places, wanted):
        self._stage = stage
        self._places = places
        self._wanted = wanted  # crashes at every place
        self._most_times = MOST_TIMES if stage.is_full else MOST_TIMES_SHORT
        self._members = {}  # by their seat, which has a place
        self.fallen: Counter[str] = Counter()

    def is_done(self):
        return all(self.fallen[place] >= self._wanted for place in self._places)

    def crash_in_a_run(self, load):
        try:
            self._replace_fallen()
            for member in self._members.values():
                self._stage.site.parts.wait_for_worker(member)
            act = self._stage.launch(load, None)
            while not self.is_done() and not act.is_over():
                self._replace_fallen()
                time.sleep(0.05)  # between two looks at who lives
        finally:
            for member in self._members.values():
                member.kill()
            self._members.clear()
        act.finish(180)
        act.check()

    def _replace_fallen(self):
        for seat, place in enumerate(self._places):
            member = self._members.get(seat)
            if member is not None and not member.is_alive:
                self.fallen[place] += member.popen.returncode == CRASH_CODE
                del self._members[seat]
            if seat not in self._members and self.fallen[place] < self._wanted:
                times = self._stage.random.randint(1, self._most_times[place])
                failpoint = {"EVALSITE_FAILPOINT": f"{place}:{times}"}
                self._members[seat] = self._stage.site.add_worker(**failpoint)


@pytest.mark.row(
    "4",
    "a worker frozen for 60 s, then going on",
    "late results discarded, 0 doubled",
    is_short=True,
)
def test_a_worker_is_frozen_for_longer_than_its_lease(stage):
    """It would end itself for standing still so long, and there would be nothing to discard."""
    patient = {"EVALSITE_HANG_SECONDS": "300"}
    with other_workers(stage.site, patient, patient) if stage.is_full else nullcontext():
        freeze_one_worker(stage)


def freeze_one_worker(stage):
    act = stage.launch(Load(150, 300, 10), Load(2991, 700, 20), held_at=0.3, until=0.3)
    victim = stage.busy_worker()
    frozen = stage.freeze(victim)
    # In the short tier slowly, or the run may end before the frozen one is back.
    act.let_go(latency_ms=act.load.latency_ms if stage.is_full else 2000)
    try:
        wait_for(lambda: not stage.leases_of(victim), 60, "leases taken back")
        stage.figure("resumed_seconds", time.monotonic() - frozen, most=stage.bar(40))
        while stage.is_full and not act.is_over() and time.monotonic() < frozen + 60:
            time.sleep(0.1)  # it stays frozen
    finally:
        victim.signal(signal.SIGCONT)
        stage.site.simulator.change(latency_ms=act.load.latency_ms)
    act.finish(120)
    wait_for(lambda: not stage.leases_of(victim), 30, "the frozen one lets go")
    discarded = sum(event["scores"] for event in act.events("discarded"))
    least = 1 if stage.is_full else 0  # in so few seconds it may have had nothing unwritten
    stage.figure("results_discarded", discarded, least=least)
    act.check(wasted=2 * act.load.slots)  # what it had in flight, and what it held unwritten


@pytest.mark.row(
    "5", "a trial that kills every worker", "given up after 3 deaths, the rest finishes"
)
def test_one_trial_kills_every_worker(stage):
    site, word, prompts = stage.site, "POISON", [DEMO_PROMPTS[0]._asdict()]
    load = Load(996, 50, 20) if stage.is_full else Load(60, 20, 10)
    question = make_questions(load.trials)[7].question
    order = {"match": {"contains": question}, "times": None, "do": "answer", "answer": word}
    frail = {"EVALSITE_FAILPOINT": f"after_answer:~{word}"}
    with other_workers(site, frail, frail):
        act = stage.launch(load, None, prompts=prompts, orders=[order], is_known=False)
        deaths = keep_alive_until_over(act, 300)
    act.finish(1)
    stage.figure("workers_killed", deaths)
    failed = site.database.rows(
        f"SELECT error_class, error_message FROM runs_score"
        f" WHERE run_id = {act.run} AND error_class <> ''"
    )
    stage.figure("given_up", len(failed), most=1)
    wanted = [("poison", "Its worker died 3 times while working on it.")]
    stage.expect(failed == wanted, f"the failed trials are {failed}")
    act.check(same_table=False, state=("completed_with_errors",))


def keep_alive_until_over(act, seconds):
    """Start again what dies, as `serve` does; how often that was."""
    deaths = 0
    deadline = time.monotonic() + seconds
    while not act.is_over() and time.monotonic() < deadline:
        for worker in act.site.workers:
            if not worker.is_alive:
                deaths += 1
                worker.start_again()
        time.sleep(0.05)  # between two looks at who lives
    return deaths


@pytest.mark.row(
    "7", "SIGTERM under load", "exit within 30 s, 0 wasted calls, 0 leases left", is_short=True
)
def test_a_worker_is_stopped_under_load(stage):
    act = stage.launch(SHORT, held_at=0.3, until=0.3)
    victim = stage.busy_worker()
    victim.signal(signal.SIGTERM)
    act.let_go()
    stage.figure("exit_seconds", victim.wait(stage.bar(40)), most=stage.bar(30))
    stage.figure("leases_left", stage.leases_of(victim), most=0)
    act.finish(90)
    act.check(wasted=0)
