"""The schedule two_level for strategies that decide in rounds: a split for every round."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.running import run_document
from workers.engine.chunks import allocate
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Score, Trial
from workers.engine.schedule import Room, plan_chunks
from workers.engine.session import Session
from workers.simulator.testing import SimulatorClient

SLOTS, CASES = 20, 60
ROOM = Room(chunks=64, chunk_size=100, slots=SLOTS)


def selection(name: str = "arm_elimination", **limits: Any) -> Any:
    models = [f"simulated/m{number}" for number in range(9)]
    steps = [{"name": "solver", "user": "{{question}}", "models": models}]
    return read_configuration(
        {
            "kind": "select",
            "dataset": "sums",
            "steps": steps,
            "scorers": ["exact"],
            "strategy": name,
            "limits": {"max_concurrent": SLOTS, "schedule": "two_level", **limits},
        }
    )


def score_of(trial: Trial, quality: dict[str, float]) -> Score:
    is_right = (trial.case * 37 % CASES) / CASES < quality[trial.candidate]
    return Score(trial, value=float(is_right), passed=is_right)


def qualities(made: Any) -> dict[str, float]:
    return {one.key: 0.1 * place for place, one in enumerate(made.make_candidates(), start=1)}


def play(made: Any, session: Session) -> Iterator[tuple[int, set[str]]]:
    """Works a candidate off whenever nothing more begins; yields the round with who is open."""
    quality, at_work = qualities(made), dict[str, list[Trial]]()
    while True:
        for chunk in plan_chunks(session, made, CASES, set(at_work), ROOM):
            at_work.setdefault(chunk[0].candidate, []).extend(chunk)
        if not at_work:
            return
        assert session.work is not None
        yield session.work.cases, set(at_work)
        ended = at_work.pop(next(iter(at_work)))
        session.absorb(score_of(trial, quality) for trial in ended)


def test_each_round_has_its_own_split() -> None:
    made = selection()
    session = Session(made.open_strategy(CASES))
    most: dict[int, int] = {}
    for cases, is_open in play(made, session):
        most[cases] = max(most.get(cases, 0), len(is_open))
    assert session.is_finished
    assert list(most)[:3] == [6, 12, 24]
    assert most[6] == allocate(SLOTS, 6).candidates == 3
    assert most[12] == allocate(SLOTS, 12).candidates == 1


@pytest.mark.parametrize("name", ["arm_elimination", "epsilon_lucb", "hill_climbing"])
def test_the_same_is_chosen_as_without_it(name: str) -> None:
    chosen = []
    for schedule in ("two_level", "work_conserving"):
        made = selection(name, schedule=schedule)
        session = Session(made.open_strategy(CASES))
        quality = qualities(made)
        while chunks := plan_chunks(session, made, CASES, set(), ROOM):
            session.absorb(score_of(trial, quality) for chunk in chunks for trial in chunk)
        chosen.append((session.best, session.told))
    assert chosen[0] == chosen[1]


def test_a_session_in_the_middle_of_a_round_is_replayed() -> None:
    made = selection()
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


def test_candidates_of_a_round_come_in_batches_where_that_is_asked_for() -> None:
    made = selection(candidate_batch_size=4, max_concurrent_candidates=3)
    session = Session(made.open_strategy(CASES))
    first = [is_open for cases, is_open in play(made, session) if cases == 6]
    assert [len(is_open) for is_open in first] == [3, 3, 2, 1, 3, 3, 2, 1, 1]


async def test_a_selection_gives_the_same_result_over_http(
    simulator: SimulatorClient, document: dict[str, Any], cases: list[Case]
) -> None:
    kept = {name: document[name] for name in ("dataset", "scorers", "seed")}
    models = ["simulated/sim-small", "simulated/sim-large"]
    steps = [{"name": "solver", "user": "{{question}}", "models": models}]
    found, peaks = [], []
    for schedule, at_once in (("work_conserving", 3), ("two_level", 2)):
        simulator.reset()
        simulator.change(latency_ms=5, gather=at_once)
        limits = {"max_concurrent": 3, "schedule": schedule}
        selected = {**kept, "kind": "select", "steps": steps, "limits": limits}
        selected["strategy"] = {"name": "brute_force"}
        scores = await run_document(selected, cases[:2], simulator.url)
        found.append(sorted((s.trial.candidate, s.trial.case, s.value, s.answer) for s in scores))
        peaks.append(simulator.ledger()["peak_in_flight"])
    assert found[0] == found[1]
    assert peaks == [3, 2]  # 3 // 2 cases is one candidate at a time
