"""Candidates that are born while a run goes on, from answers that a model gave, in one process."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.engine.running import run_document, table_of
from tests.toy_kind import Climb, Toy
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import KINDS, read_configuration
from workers.engine.records import EVALUATE, PROPOSE, Candidate, Case, Score
from workers.engine.session import Session
from workers.engine.strategies import Strategy
from workers.simulator.testing import SimulatorClient

ROUNDS = 4


@pytest.fixture
def toy(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setitem(KINDS, "toy", Toy)
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    prompt = {"name": "first", "system": "Answer with the number only."}
    models = {"model": "simulated/sim-small", "writer": "simulated/sim-large"}
    return {**kept, **models, "kind": "toy", "prompt": prompt, "rounds": ROUNDS}


def replayed(toy: dict[str, Any], cases: Sequence[Case], scores: Sequence[Score]) -> Session:
    session = Session(read_configuration(toy).open_strategy(len(cases)))
    session.replay(len(scores), scores)
    return session


def roles_of(candidates: Sequence[Candidate]) -> list[str]:
    return [candidate.role for candidate in candidates]


async def test_each_round_tries_the_prompt_that_a_model_wrote(
    toy: dict[str, Any], cases: list[Case], simulator: SimulatorClient
) -> None:
    scores = await run_document(toy, cases, simulator.url)
    candidates = replayed(toy, cases, scores).candidates
    assert roles_of(candidates) == [EVALUATE, *[PROPOSE, EVALUATE] * (ROUNDS - 1)]
    assert len(scores) == ROUNDS * len(cases) + ROUNDS - 1
    assert not [score for score in scores if score.error]
    answers = {score.trial.candidate: score for score in scores}
    for proposal, child in zip(candidates[1::2], candidates[2::2], strict=True):
        told = answers[proposal.key]
        assert (told.value, told.passed, told.judgements) == (1.0, None, ())
        assert child.document["prompt"]["system"] == told.answer


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
    session = replayed(toy, cases, scores)
    keys = list(dict.fromkeys(score.trial.candidate for score in scores))
    assert [candidate.key for candidate in session.candidates] == keys
    assert session.plan(100) == []
    assert session.is_finished


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"do": "status", "status": 400}, id="it fails"),
        pytest.param({"do": "answer", "answer": "Say {{expected}}."}, id="it names another column"),
    ],
)
async def test_a_proposal_that_cannot_be_used_has_no_child_and_ends_nothing(
    toy: dict[str, Any], cases: list[Case], simulator: SimulatorClient, fault: dict[str, Any]
) -> None:
    simulator.play({"match": {"contains": "Rewrite"}, **fault})
    toy["fail_on_error"] = 0.01  # of evaluations
    scores = await run_document(toy, cases, simulator.url)
    candidates = replayed(toy, cases, scores).candidates
    assert roles_of(candidates)[:4] == [EVALUATE, PROPOSE, PROPOSE, EVALUATE]
    assert roles_of(candidates).count(EVALUATE) == ROUNDS - 1


class Careless(Climb):
    """Lets a model name a column that there is not."""

    def __init__(self, toy: Toy, cases: int) -> None:
        super().__init__(toy, cases)
        self._allowed |= {"nothing"}


class Deaf(Climb):
    """Uses answers, and does not say so."""

    hears = frozenset()


class CarelessToy(Toy):
    def open_strategy(self, cases: int) -> Strategy:
        return Careless(self, cases)


class DeafToy(Toy):
    def open_strategy(self, cases: int) -> Strategy:
        return Deaf(self, cases)


async def test_a_birth_that_no_case_can_fill_is_refused_at_once(
    toy: dict[str, Any],
    cases: list[Case],
    simulator: SimulatorClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(KINDS, "toy", CarelessToy)
    simulator.play({"match": {"contains": "Rewrite"}, "do": "answer", "answer": "Say {{nothing}}."})
    with pytest.raises(ConfigurationError, match=r"child 1: \{\{nothing\}\} is not a column"):
        await run_document(toy, cases, simulator.url)


async def test_a_strategy_is_told_no_answer_that_it_does_not_ask_for(
    toy: dict[str, Any],
    cases: list[Case],
    simulator: SimulatorClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or it would learn here what no replay can tell it."""
    monkeypatch.setitem(KINDS, "toy", DeafToy)
    scores = await run_document(toy, cases, simulator.url)
    assert len(scores) == len(cases) + ROUNDS - 1
