"""How the slots of a run are shared and lent, and never beyond any limit."""

import asyncio
from contextlib import AsyncExitStack
from types import SimpleNamespace

from tests.engine.running import evaluation
from tests.engine.test_selections import make_matrix, of_matrix, play, select
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import row, table
from tests.simulator.calls import until
from workers.engine.chunks import Allocation, Work, allocate, share_slots
from workers.engine.clock import SystemClock
from workers.engine.kinds import read_configuration
from workers.engine.kinds.select.rows import rounds_of
from workers.engine.records import Score, Trial
from workers.engine.schedule import Room, plan_chunks, plan_slots, slots_allowed
from workers.engine.session import Session
from workers.engine.strategies import SELECTIONS
from workers.engine.targets import slots as slots_module
from workers.engine.targets.slots import Slots
from workers.engine.throttling.permits import Allowance, LocalPermits, Quota
from workers.engine.throttling.throttle import Throttle


def configuration(prompts=1, models=1, **limits):
    asked = [{"name": f"p{n}", "user": "{{question}}"} for n in range(prompts)]
    named = [f"simulated/m{n}" for n in range(models)]
    return read_configuration(evaluation("exact", prompts=asked, models=named, limits=limits))


def selection(**changes):
    models = ["simulated/a", "simulated/b", "simulated/c"]
    steps = [{"name": name, "user": "{{question}}", "models": models} for name in "xyz"]
    document = {"kind": "select", "dataset": "sums", "steps": steps, "scorers": ["exact"]}
    return read_configuration({**document, "strategy": "arm_elimination", **changes})


@table(
    row(4, Work(1, 100, 100), (1, 4), 0, 0, id="one candidate, four slots"),
    row(50, Work(2, 5, 10), (2, 5), 0, 40, id="two left, few cases"),
    row(50, Work(27, 3, 81), (16, 3), 2, 0, id="as documented, the rest lent"),
    row(50, Work(8, 5, 10), (2, 5), 0, 40, id="a round of uneven parts"),
    row(20, Work(9, 1, 9), (9, 1), 0, 11, id="one case each"),
    row(0, Work(3, 3, 9), (1, 1), 0, 0, id="no slots count as one"),
)
def test_slots_are_shared_among_what_there_is(slots, work, split, lent, empty):
    found = share_slots(slots, work)
    assert (found.split, found.lent, found.empty) == (Allocation(*split), lent, empty)


@table(
    row(configuration(), 100, 4, (1, 4), 0, 0, id="1 candidate, limit 4"),
    row(configuration(), 20, 50, (1, 20), 0, 30, id="fewer cases than slots"),
    row(configuration(3), 100, 50, (3, 16), 2, 0, id="case by case"),
    row(configuration(9), 100, 4, (4, 1), 0, 0, id="more candidates than slots"),
    row(configuration(9, schedule="two_level", batch_size=3), 100, 10, (3, 3), 0, 1, id="two"),
    row(configuration(1, schedule="two_level", batch_size=3), 100, 10, (1, 3), 0, 7, id="one"),
    row(selection(), 30, 50, (16, 3), 2, 0, id="the first round of 27"),
)
def test_a_run_shows_what_it_does_with_its_slots(made, cases, slots, split, lent, empty):
    found = plan_slots(made, cases, slots)
    assert (found.split, found.lent, found.empty) == (Allocation(*split), lent, empty)


@table(
    row(1, 50, 4, 4, id="the endpoint allows less"),
    row(3, 50, 4, 12, id="each of its models"),
    row(3, 10, 4, 10, id="the run asks for less"),
)
def test_the_smaller_limit_holds(models, own, endpoint, allowed):
    made = configuration(models=models, max_concurrent=own)
    assert slots_allowed(made, {"simulated": endpoint, "other": 1}) == allowed


@table(*SELECTIONS)
def test_no_round_shows_more_than_takes_part_in_it(name):
    matrix = make_matrix([0.2, 0.4, 0.5, 0.6, 0.6, 0.7, 0.8, 0.9, 0.95], 60, seed=3)
    strategy = select(name, matrix)
    play(strategy, of_matrix(matrix))
    for record in rounds_of(strategy, 50):
        assert record.split.candidates <= record.combinations
        assert record.split.cases_per_candidate <= record.cases
        assert record.slots.in_split + record.slots.lent <= min(50, record.trials)


SLOTS, CASES = 20, 60
ROOM = Room(chunks=64, chunk_size=100, slots=SLOTS)


def in_rounds(strategy="arm_elimination", **limits):
    models = [f"simulated/m{number}" for number in range(9)]
    steps = [{"name": "solver", "user": "{{question}}", "models": models}]
    limits = {"max_concurrent": SLOTS, "schedule": "two_level", **limits}
    return selection(strategy=strategy, steps=steps, limits=limits)


def score_of(trial, quality):
    is_right = (trial.case * 37 % CASES) / CASES < quality[trial.candidate]
    return Score(trial, value=float(is_right), passed=is_right)


def qualities(made):
    return {one.key: 0.1 * place for place, one in enumerate(made.make_candidates(), start=1)}


def work_off(made, session):
    """Works a candidate off whenever nothing more begins; yields the round with who is open."""
    quality, at_work = qualities(made), dict[str, list[Trial]]()
    while True:
        for chunk in plan_chunks(session, made, CASES, set(at_work), ROOM):
            at_work.setdefault(chunk[0].candidate, []).extend(chunk)
        if not at_work:
            return
        yield session.work.cases, set(at_work)
        ended = at_work.pop(next(iter(at_work)))
        session.absorb(score_of(trial, quality) for trial in ended)


def test_each_round_has_its_own_split():
    made = in_rounds()
    session = Session(made.open_strategy(CASES))
    most: dict[int, int] = {}
    for cases, is_open in work_off(made, session):
        most[cases] = max(most.get(cases, 0), len(is_open))
    assert session.is_finished
    assert list(most)[:3] == [6, 12, 24]
    assert most[6] == allocate(SLOTS, 6).candidates == 3
    assert most[12] == allocate(SLOTS, 12).candidates == 1
    # Candidates come in batches where that is asked for.
    made = in_rounds(candidate_batch_size=4, max_concurrent_candidates=3)
    session = Session(made.open_strategy(CASES))
    first = [is_open for cases, is_open in work_off(made, session) if cases == 6]
    assert [len(is_open) for is_open in first] == [3, 3, 2, 1, 3, 3, 2, 1, 1]


@table("arm_elimination", "epsilon_lucb", "hill_climbing")
def test_the_same_is_chosen_as_without_it(name):
    chosen = []
    for schedule in ("two_level", "work_conserving"):
        made = in_rounds(name, schedule=schedule)
        session = Session(made.open_strategy(CASES))
        quality = qualities(made)
        while chunks := plan_chunks(session, made, CASES, set(), ROOM):
            session.absorb(score_of(trial, quality) for chunk in chunks for trial in chunk)
        chosen.append((session.best, session.told))
    assert chosen[0] == chosen[1]


def test_a_session_in_the_middle_of_a_round_is_replayed():
    made = in_rounds()
    session, told = Session(made.open_strategy(CASES)), list[Score]()
    quality = qualities(made)
    for _ in range(5):  # the first round has three of these steps
        for chunk in plan_chunks(session, made, CASES, set(), ROOM):
            told += [score_of(trial, quality) for trial in chunk]
        session.absorb(told[session.told :])
    other = Session(made.open_strategy(CASES))
    other.replay(session.asked, told)
    assert (other.asked, other.told, other.begun) == (session.asked, session.told, session.begun)
    assert other.work == session.work
    again = [plan_chunks(one, made, CASES, set(), ROOM) for one in (session, other)]
    assert again[0] == again[1] != []


# A rate and an allowance of calls, neither of which holds for what calls nobody.
QUOTA = Quota("run", 4, requests_per_minute=1, allowance=Allowance(calls=0))


def opened():
    clock = SystemClock()
    throttle = Throttle(LocalPermits(clock.monotonic), clock)
    return throttle, Slots(throttle, lambda: (QUOTA,))


async def lent(waiting, **options):
    """Waits for the two that are left over, where the program waits for a moment."""
    await until(lambda: sum(task.done() for task in waiting) >= 2)


async def test_what_is_left_over_is_lent_and_no_more(monkeypatch):
    patient = SimpleNamespace(create_task=asyncio.create_task, wait=lent)
    monkeypatch.setattr(slots_module, "asyncio", patient)
    throttle, slots = opened()
    async with AsyncExitStack() as held:
        assert await held.enter_async_context(slots.hold()) == 1
        assert await held.enter_async_context(slots.hold(most=16)) == 3
        assert throttle.held_here("run") == 4
        late = asyncio.create_task(first_of(slots))
        await asyncio.sleep(0.05)  # it could begin meanwhile, and must not
        assert not late.done()
    assert await asyncio.wait_for(late, PATIENCE_SECONDS) == 1
    assert throttle.held_here("run") == 0
    await throttle.close()


async def first_of(slots):
    async with slots.hold() as got:
        return got


async def test_work_of_the_same_name_is_done_alone():
    throttle, slots = opened()
    at_work: list[str] = []

    async def do(name: str) -> int:
        async with slots.hold(alone=name):
            at_work.append(name)
            most = at_work.count(name)
            await asyncio.sleep(0.02)  # others of its name could begin meanwhile
            at_work.remove(name)
            return most

    found = await asyncio.gather(*(do(name) for name in "aabbab"))
    assert set(found) == {1}
    await throttle.close()
    # Without a throttle everything may begin.
    async with Slots().hold(most=5) as got:
        assert got == 5
