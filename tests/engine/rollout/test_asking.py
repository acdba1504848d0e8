"""Policies that ask a model: through the throttle, all agents at once, and errors that are none of
theirs."""

from typing import Any

import orjson

from tests.engine.rollout.playing import rollout
from tests.engine.running import run_document
from workers.engine.kinds import read_configuration
from workers.engine.records import Case
from workers.simulator.testing import SimulatorClient

OPTIONS = {
    "model": "simulated/sim-large",
    "instructions": "What is 1 + 1? Answer with the number only.",
}


def chatting(**changes: Any) -> dict[str, Any]:
    missions = [{"environment": "grid/harvest", "max_steps": 3}]
    policies = [{"name": "chat", "options": OPTIONS}]
    return rollout(policies=policies, missions=missions, episodes=2, cache="off", **changes)


def cases_of(document: dict[str, Any]) -> list[Case]:
    made = read_configuration(document).make_cases() or []
    return [Case(position, case) for position, case in enumerate(made)]


async def test_every_agent_asks_in_every_step(simulator: SimulatorClient) -> None:
    document = chatting(jobs=4)
    scores = await run_document(document, cases_of(document), simulator.url)
    assert [score.error for score in scores] == ["", ""], scores[0].message
    assert [score.calls_sent for score in scores] == [12, 12]  # 4 agents x 3 steps
    told = orjson.loads(scores[0].answer)
    assert told["lanes"][0][0] == "async"
    again = await run_document(document, cases_of(document), simulator.url)
    assert [orjson.loads(one.answer)["digest"] for one in again] == [
        orjson.loads(one.answer)["digest"] for one in scores
    ]


async def test_a_model_that_fails_is_no_zero(simulator: SimulatorClient) -> None:
    document = chatting(limits={"attempts": 1})
    simulator.change(error_rate=1.0)
    scores = await run_document(document, cases_of(document), simulator.url)
    assert {(score.value, score.error) for score in scores} == {(None, "server_error")}


def test_its_model_is_one_that_the_run_calls() -> None:
    found = read_configuration(chatting())
    assert [model.label for model in found.called] == ["simulated/sim-large"]
    assert found.model_path(0) == "policies.0.options.model"
    assert found.calls_per_trial() == 12  # 4 agents x 3 steps
