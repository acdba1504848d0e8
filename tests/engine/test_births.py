"""Candidates that are born while a run goes on, in one process."""

from typing import Any

import pytest

from tests.engine.running import run_document, table_of
from tests.toy_kind import Toy
from workers.engine.kinds import KINDS, read_configuration
from workers.engine.records import Case
from workers.engine.session import Session
from workers.simulator.testing import SimulatorClient


@pytest.fixture
def toy(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setitem(KINDS, "toy", Toy)
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    prompt = {"name": "first", "system": "Answer with the number only."}
    return {**kept, "kind": "toy", "prompt": prompt, "model": "simulated/sim-small", "rounds": 4}


async def test_each_round_brings_a_candidate_and_it_is_tried(
    toy: dict[str, Any], cases: list[Case], simulator: SimulatorClient
) -> None:
    scores = await run_document(toy, cases, simulator.url)
    assert len(scores) == 4 * len(cases)
    assert len({score.trial.candidate for score in scores}) == 4
    assert not [score for score in scores if score.error]


async def test_parallel_equals_sequential(
    toy: dict[str, Any], cases: list[Case], simulator: SimulatorClient
) -> None:
    parallel = await run_document(toy, cases, simulator.url)
    toy["limits"] = {**toy["limits"], "max_concurrent": 1}
    assert table_of(await run_document(toy, cases, simulator.url)) == table_of(parallel)


async def test_a_replay_bears_the_same_candidates(
    toy: dict[str, Any], cases: list[Case], simulator: SimulatorClient
) -> None:
    scores = await run_document(toy, cases, simulator.url)
    replayed = Session(read_configuration(toy).open_strategy(len(cases)))
    replayed.replay(len(scores), scores)
    keys = list(dict.fromkeys(score.trial.candidate for score in scores))
    assert [candidate.key for candidate in replayed.candidates] == keys
    assert replayed.is_finished
