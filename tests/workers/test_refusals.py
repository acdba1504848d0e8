"""What is refused for good, in a row, stops a run: counted for all workers together."""

import asyncio
import time

import pytest

from runs.models import Chunk, ChunkState
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import Results, record_results
from runs.services.control.pauses import settle_pause
from runs.services.control.resuming import resume_run
from runs.services.runs import create_run
from tests.workers.by_hand import lease_of
from workers.engine.clock import SystemClock
from workers.engine.errors import BadCredentials, CallError, Refused, ScorerFailed, TimedOut
from workers.engine.records import Score
from workers.engine.throttling.permits import Demand, LocalPermits, Quota, Report
from workers.engine.throttling.throttle import Throttle
from workers.redis_permits import RedisPermits

SMALL, LARGE = Quota("endpoint:1/small", 50), Quota("endpoint:1/large", 50)


class Worker:
    """One process's part of the permits; `models` is how many its run calls."""

    def __init__(self, client, name, models=1):
        self._permits = RedisPermits(client, name, 2, LocalPermits(time.monotonic))
        self._run = Quota("run:1", 50, models=models)

    async def tell(self, /, model=SMALL, **report):
        demand = Demand((0, 0), 1, report=Report(**report))
        return await self._permits.exchange((self._run, model), demand)

    async def refuse(self, count, error=Refused, model=SMALL):
        return await self.tell(model, refused=count, refusal=error.name)


@pytest.fixture
def pair(client):
    return Worker(client, "ann"), Worker(client, "ben")


async def test_refusals_of_two_workers_are_one_row(client, pair):
    ann, ben = pair
    assert (await ann.refuse(12)).refusals == 0
    assert (await ben.refuse(7)).permits == 1
    stopped = await ben.refuse(1)
    assert (stopped.refusals, stopped.permits, stopped.retry_seconds) == (20, 0, 2.0)
    # The two seconds are not over, however long this test stands still.
    await client.hset("permits:state:run:1", "shut", 10**14)
    other = await ann.tell()  # before it can know of the pause
    assert (other.refusals, other.permits) == (0, 0)
    assert other.retry_seconds > 2.0
    # A run that is resumed may call again.
    await client.hset("permits:state:run:1", "shut", 0)  # as if its time had passed
    assert (await ann.tell()).permits == 1
    assert (await ann.refuse(19)).refusals == 0


OTHER_REFUSAL = {"refused": 2, "refusal": BadCredentials.name}


@pytest.mark.parametrize("between", [{"good": 1}, {"troubled": 1}, {"late": 1}, OTHER_REFUSAL])
async def test_any_other_end_of_a_call_begins_the_row_anew(pair, between):
    ann, ben = pair
    await ann.refuse(19)
    await ben.tell(**between)
    assert (await ann.refuse(19)).refusals == 0
    assert (await ann.tell(refused=0, throttled=1)).refusals == 0  # waits for its turn only
    assert (await ben.refuse(1)).refusals == 20


async def test_every_model_must_be_among_the_refused(client):
    ann, ben = Worker(client, "ann", models=2), Worker(client, "ben", models=2)
    assert (await ann.refuse(60, model=SMALL)).refusals == 0
    assert (await ben.refuse(1, model=LARGE)).refusals == 61


async def test_a_refused_key_needs_three_of_any_model(client):
    ann, ben = Worker(client, "ann", models=2), Worker(client, "ben", models=2)
    assert (await ann.refuse(2, BadCredentials)).refusals == 0
    assert (await ben.refuse(1, BadCredentials)).refusals == 3


async def test_a_refused_call_does_not_hand_its_permit_on_before_all_have_counted_it(client):
    """Two workers with ten slots each call what refuses everything."""
    slots, error, calls = 10, Refused("400: no such model"), 0
    told: list[tuple[str, int, CallError]] = []
    quotas = (Quota("run:1", 2 * slots, models=1), SMALL)
    throttles = [
        Throttle(
            RedisPermits(client, name, 2, LocalPermits(time.monotonic)),
            SystemClock(),
            on_refusals=lambda *what: told.append(what),
        )
        for name in ("ann", "ben")
    ]

    async def call(throttle):
        nonlocal calls
        async with throttle.slot(quotas) as permit:
            calls += 1
            await asyncio.sleep(0)  # in flight, for a turn of the loop
            permit.refusal = error

    tasks = [asyncio.create_task(call(throttle)) for throttle in throttles for _ in range(200)]
    while not told:
        await asyncio.wait(tasks, timeout=0.01)
    assert calls <= 20 + 2 * slots
    assert told[0][0] == "run:1"
    assert told[0][1] >= 20
    assert told[0][2] is error
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for throttle in throttles:
        await throttle.close()


class Story:
    """Two workers write what became of their trials of one run, in turns."""

    def __init__(self, run):
        advance_run(run.pk)
        self.run = run
        first, second = run.chunks.filter(state=ChunkState.PENDING)[:2]
        self._leases = {"a": lease_of(first, "a"), "b": lease_of(second, "b")}
        self._written: set[int] = set()

    def write(self, owner, count, error="", model=""):
        """So many trials of a worker end like this; the state of the run afterwards."""
        lease = self._leases[owner]
        trials = [one for one in lease.work.trials if self._is_left(lease, one, model)][:count]
        assert len(trials) == count
        self._written.update(trial.position for trial in trials)
        results = Results(leases={lease.chunk_id: lease})
        results.scores[lease.chunk_id] = [
            Score(trial, value=None if error else 1.0, error=error, message="Not a number.")
            for trial in trials
        ]
        record_results(self.run.pk, results)
        self.run.refresh_from_db()
        return str(self.run.state)

    def _is_left(self, lease, trial, model):
        called = lease.parts.candidates[trial.candidate].document["model"]["model"]
        is_stored = trial.position in lease.work.done or trial.position in self._written
        return not is_stored and model in called


@pytest.fixture
def story(alice, document):
    limits = document["limits"] | {"max_concurrent": 80}  # chunks of 40 trials
    return Story(create_run(alice, document | {"limits": limits}))


SCORER = ScorerFailed.name


def test_trials_that_two_workers_cannot_score_are_one_row(story):
    assert story.write("a", 12, SCORER) == "running"
    assert story.write("b", 7, SCORER) == "running"
    assert story.write("b", 1, SCORER) == "pausing"
    words = "20 trials in a row failed with “scorer error”: Not a number. "
    assert story.run.reason.startswith(words)
    assert "Mend the dataset or the scorer, then duplicate the run" in story.run.reason


@pytest.mark.parametrize("between", ["", TimedOut.name, Refused.name])
def test_one_trial_that_ends_otherwise_begins_the_row_anew(story, between):
    story.write("a", 19, SCORER)
    story.write("b", 1, between)
    assert story.write("a", 19, SCORER) == "running"
    assert story.write("b", 1, SCORER) == "pausing"


def test_one_model_that_is_refused_does_not_stop_the_others(story):
    assert story.write("a", 15, Refused.name, "sim-small") == "running"
    assert story.write("b", 15, Refused.name, "sim-small") == "running"
    assert story.write("a", 1, Refused.name, "sim-large") == "pausing"


def test_who_resumes_a_run_is_given_as_many_trials_again(story, alice):
    assert story.write("a", 20, SCORER) == "pausing"
    Chunk.objects.filter(run=story.run).update(state=ChunkState.PENDING)
    assert settle_pause(story.run.pk)
    assert resume_run(story.run, alice)
    again = Story(story.run)
    assert again.write("b", 19, SCORER) == "running"
    assert again.write("a", 1, SCORER) == "pausing"
