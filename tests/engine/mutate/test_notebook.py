"""The batches and the environment for notebooks: in order, failing one by one, the same with and
without batching."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from workers.engine.models_here import Endpoint, Models
from workers.engine.parallel import (
    BatchedQueryMutationEnv,
    batch_encode_queries,
    batch_judge_answers,
    batch_mutate_queries,
    batch_query_target_model,
)
from workers.simulator.demo import make_questions
from workers.simulator.testing import SimulatorClient, running_simulator

ROWS = [one._asdict() for one in make_questions(12)]
QUERIES = [row["question"] for row in ROWS]
ROLES = {"mutator": "sim/sim-large", "target": "sim/sim-small", "embedder": "sim/sim-embed"}
OPERATORS = ["noop", "passive_voice", "make_indirect"]


@pytest.fixture
def models(simulator: SimulatorClient) -> Iterator[Models]:
    with Models({"sim": Endpoint(f"{simulator.url}/v1")}, max_concurrent=32, attempts=1) as found:
        yield found


def test_batches_are_in_order(models: Models) -> None:
    vectors = batch_encode_queries(models, QUERIES, "sim/sim-embed", size=32)
    assert [len(one or ()) for one in vectors] == [32] * 12
    rewritten = batch_mutate_queries(models, QUERIES, "make_indirect", "sim/sim-large")
    assert all(query in (text or "") for query, text in zip(QUERIES, rewritten, strict=True))
    assert all((text or "").startswith("I wonder") for text in rewritten)
    answers = batch_query_target_model(models, QUERIES, "sim/sim-large")
    values = batch_judge_answers(models, answers, ROWS, [{"numeric": {}}])
    assert set(values) <= {0.0, 1.0}
    assert sum(value or 0.0 for value in values) > 6


def test_each_query_has_an_operator_of_its_own(models: Models) -> None:
    found = batch_mutate_queries(models, QUERIES[:2], ["noop", "passive_voice"], "sim/sim-large")
    assert found == [QUERIES[0], f"What follows is to be worked out by you. {QUERIES[1]}"]


@pytest.mark.parametrize("at_once", [None, 3])
def test_eight_are_in_flight_by_default(
    models: Models, simulator: SimulatorClient, at_once: int | None
) -> None:
    simulator.change(latency_ms=20, gather=at_once or 8)
    given: dict[str, Any] = {} if at_once is None else {"batch_size": at_once}
    batch_query_target_model(models, QUERIES, "sim/sim-small", **given)
    assert simulator.ledger()["peak_in_flight"] == (at_once or 8)


def test_one_failure_does_not_lose_the_others(models: Models, simulator: SimulatorClient) -> None:
    simulator.play({"do": "error", "status": 400, "times": 1})
    answers = batch_query_target_model(models, QUERIES, "sim/sim-small", batch_size=1)
    assert answers[0] is None
    assert list(answers.errors) == [0]
    assert None not in answers[1:]
    values = batch_judge_answers(models, answers, ROWS, ["numeric"])
    assert values[0] is None
    assert list(values.errors) == [0]


def test_several_servers_share_the_calls(simulator: SimulatorClient) -> None:
    simulator.change(latency_ms=40)
    with running_simulator(latency_ms=40) as second:
        there = Endpoint(f"{simulator.url}/v1", base_urls=(f"{second.url}/v1",))
        with Models({"sim": there}) as models:
            answers = batch_query_target_model(models, QUERIES, "sim/sim-small")
        assert None not in answers
        assert second.ledger()["total"] + simulator.ledger()["total"] == len(QUERIES)
        assert second.ledger()["total"] >= 4


def test_a_local_embedder_is_told_the_device(models: Models) -> None:
    asked: list[tuple[str, str]] = []

    def embed(texts: list[str], device: str) -> list[list[float]]:
        asked.append((texts[0], device))
        return [[3.0, 4.0]]

    found = batch_encode_queries(models, ["a"], size=8, device="cuda:0", embed=embed)
    assert found[0] == pytest.approx([0.6 * 8**0.5, 0.8 * 8**0.5, 0, 0, 0, 0, 0, 0])
    assert asked == [("a", "cuda:0")]


def test_without_a_model_words_are_hashed(models: Models, simulator: SimulatorClient) -> None:
    near, same, far = batch_encode_queries(models, ["two red cars", "two red cars!", "why not"])
    assert near == same
    assert np.dot(near or (), far or ()) < 0.5 * np.dot(near or (), same or ())
    assert simulator.ledger()["total"] == 0


def world(models: Models, **given: Any) -> BatchedQueryMutationEnv:
    settings: dict[str, Any] = {"operators": OPERATORS, "roles": ROLES, "scorers": ["numeric"]}
    return BatchedQueryMutationEnv(models, ROWS, 4, **settings, max_steps=2, **given)


def play(one: BatchedQueryMutationEnv, steps: int = 4) -> list[Any]:
    observations, infos = one.batch_reset(seed=1)
    found: list[Any] = [observations.tolist(), infos["query"]]
    for step in range(steps):
        observations, rewards, terminations, truncations, infos = one.batch_step(
            [(step + place) % 3 for place in range(4)]
        )
        assert not terminations.any()
        found.append((observations.tolist(), rewards.tolist(), truncations.tolist()))
        found.append(infos["transitions"])
    return found


def test_no_batching_gives_the_same_transitions(models: Models, simulator: SimulatorClient) -> None:
    at_once = play(world(models))
    with Models({"sim": Endpoint(f"{simulator.url}/v1")}) as others:
        assert play(world(others, use_batching=False)) == at_once


def test_an_episode_ends_and_the_next_query_begins_in_the_same_step(models: Models) -> None:
    one = world(models, observation_size=16)
    first, infos = one.batch_reset()
    assert one.metadata == {"autoreset_mode": "same_step"}
    assert first.shape == (4, *one.single_observation_space.shape)
    assert one.single_action_space.n == 3
    begun = infos["query"]
    assert begun == QUERIES[:4]
    *_, truncations, infos = one.batch_step([0] * 4)
    assert not truncations.any()
    assert infos["query"] == begun
    observations, _, _, truncations, infos = one.batch_step([0] * 4)
    assert truncations.all()
    assert infos["query"] == QUERIES[4:8]
    assert np.array(infos["final_obs"], dtype=np.float32).tolist() == first.tolist()
    assert observations.tolist() != first.tolist()


def test_a_failed_call_is_no_reward(models: Models, simulator: SimulatorClient) -> None:
    one = world(models, use_batching=False)
    before, infos = one.batch_reset()
    simulator.play({"do": "error", "status": 400, "times": 1})  # the first environment's rewrite
    observations, rewards, _, _, after = one.batch_step([1] * 4)
    assert np.isnan(rewards).tolist() == after["excluded"].tolist() == [True, False, False, False]
    assert after["transitions"][0].excluded[:2] == ("mutator", "refused")
    assert after["query"][0] == infos["query"][0]
    assert observations[0].tolist() == before[0].tolist()
