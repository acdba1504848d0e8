"""The arithmetic of PPO, in equal bits; and batches and environments for notebooks."""

from typing import Any

import numpy as np
import pytest

from tests.engine.running import known
from tests.harness.table import table
from workers.engine import parallel
from workers.engine.kinds.mutate.networks import Network, Shape, times
from workers.engine.kinds.mutate.options import PpoOptions
from workers.engine.kinds.mutate.ppo import Batch, Ppo, Trajectory
from workers.engine.models_here import Endpoint, Models
from workers.simulator.demo import make_questions
from workers.simulator.testing import running_simulator

INPUTS, ACTIONS = 3, 4


def ppo_with(**given):
    return Ppo(PpoOptions(hidden_size=5, **given), INPUTS, ACTIONS, seed=3)


def batch_for(ppo, size=24):
    """Such that some ratios and some values are beyond the clip, and others within it."""
    random = np.random.default_rng(5)
    observations = random.normal(size=(size, INPUTS))
    actions = random.integers(0, ACTIONS, size)
    logs = ppo.log_probabilities(observations)[np.arange(size), actions]
    values = ppo.values(observations)
    return Batch(
        observations,
        actions,
        returns=values + random.normal(size=size),
        advantages=random.normal(size=size),
        log_probabilities=logs + random.normal(0, 0.3, size),
        values=values + random.normal(0, 0.3, size),
    )


@table(True, False)
def test_gradients_are_those_of_finite_differences(is_clipped):
    ppo = ppo_with(entropy_coef=0.1, use_clipped_value_loss=is_clipped)
    batch = batch_for(ppo)
    _, gradients = ppo.gradients(batch)
    parameters = [*ppo.actor.parameters, *ppo.critic.parameters]
    nudge = 1e-6
    for part, gradient in zip(parameters, gradients, strict=True):
        assert part.shape == gradient.shape
        for place in np.ndindex(part.shape):
            kept = part[place]
            part[place] = kept + nudge
            above = ppo.gradients(batch)[0].total
            part[place] = kept - nudge
            below = ppo.gradients(batch)[0].total
            part[place] = kept
            assert gradient[place] == pytest.approx((above - below) / (2 * nudge), abs=1e-6)


def trajectory(rewards, ends, terminated):
    steps = len(rewards)
    rows = np.random.default_rng(1).normal(size=(steps + 1, INPUTS))
    earned, ended, over = map(np.array, (rewards, ends, terminated))
    return Trajectory(rows[:-1], np.zeros(steps, dtype=int), earned, rows[1:], ended, over)


def test_advantages_are_cut_where_an_episode_ends_and_bootstrapped_unless_it_is_over():
    ppo = ppo_with(gamma=0.9, gae_lambda=0.5)
    one = trajectory([1.0, 2.0, 3.0], [False, True, True], [False, False, True])
    values, after = ppo.values(one.observations), ppo.values(one.after)
    third = 3.0 - values[2]
    second = 2.0 + 0.9 * after[1] - values[1]
    first = 1.0 + 0.9 * after[0] - values[0] + 0.9 * 0.5 * second
    assert ppo._advantages(one, values) == pytest.approx([first, second, third])


def test_rows_weights_and_seeds_give_the_same_bits():
    random = np.random.default_rng(2)
    rows, weights = random.normal(size=(33, 128)), random.normal(size=(128, 64))
    whole = times(rows, weights)
    assert all((times(rows[n : n + 1], weights) == whole[n]).all() for n in range(33))
    network = Network.drawn(Shape(INPUTS, 5, ACTIONS), np.random.default_rng(0))
    again = Network.read(network.shape, network.write())
    rows = np.ones((2, INPUTS))
    assert (again.run(rows).outputs == network.run(rows).outputs).all()
    ppo = ppo_with()
    before = ppo.actor.write()
    assert ppo.learn([]) is None
    assert ppo.actor.write() == before
    # Learning does so, too.
    one = trajectory([1.0, 0.0, 1.0, 0.5] * 4, [False, False, False, True] * 4, [False] * 16)
    written = []
    for _ in range(2):
        ppo = ppo_with()
        ppo.learn([one, one])
        written.append(ppo.actor.write() + ppo.critic.write())
    assert written[0] == written[1]
    assert written[0] != (ppo_with().actor.write() + ppo_with().critic.write())


def test_it_learns_which_action_an_observation_asks_for():
    """A bandit with a context: the reward is 1 for the place of the largest number."""
    options = PpoOptions(hidden_size=16, lr=5e-3, num_mini_batch=2, entropy_coef=0.0)
    ppo, random = Ppo(options, 3, 3, seed=0), np.random.default_rng(0)
    rewards = np.zeros(0)
    for _ in range(60):
        rows = random.normal(size=(64, 3))
        shares = np.exp(ppo.log_probabilities(rows)).cumsum(axis=1)
        actions = (random.random((64, 1)) > shares[:, :-1]).sum(axis=1)
        rewards = (rows.argmax(axis=1) == actions).astype(float)
        ends = np.ones(64, dtype=bool)
        learned = known(ppo.learn([Trajectory(rows, actions, rewards, rows, ends, ends)]))
        assert learned.kl >= 0
    assert rewards.mean() > 0.85


ROWS = [one._asdict() for one in make_questions(12)]
QUERIES = [row["question"] for row in ROWS]
ROLES = {"mutator": "sim/sim-large", "target": "sim/sim-small", "embedder": "sim/sim-embed"}
OPERATORS = ["noop", "passive_voice", "make_indirect"]


@pytest.fixture
def models(simulator):
    with Models({"sim": Endpoint(f"{simulator.url}/v1")}, max_concurrent=32, attempts=1) as found:
        yield found


def test_batches_are_in_order_and_each_query_may_have_its_operator(models):
    vectors = parallel.batch_encode_queries(models, QUERIES, "sim/sim-embed", size=32)
    assert [len(one or ()) for one in vectors] == [32] * 12
    rewritten = parallel.batch_mutate_queries(models, QUERIES, "make_indirect", "sim/sim-large")
    assert all(query in (text or "") for query, text in zip(QUERIES, rewritten, strict=True))
    assert all((text or "").startswith("I wonder") for text in rewritten)
    answers = parallel.batch_query_target_model(models, QUERIES, "sim/sim-large")
    values = parallel.batch_judge_answers(models, answers, ROWS, [{"numeric": {}}])
    assert set(values) <= {0.0, 1.0}
    assert sum(value or 0.0 for value in values) > 6
    two = ["noop", "passive_voice"]
    found = parallel.batch_mutate_queries(models, QUERIES[:2], two, "sim/sim-large")
    assert found == [QUERIES[0], f"What follows is to be worked out by you. {QUERIES[1]}"]


@pytest.mark.parametrize("at_once", [None, 3])
def test_eight_are_in_flight_by_default(models, simulator, at_once):
    simulator.change(latency_ms=20, gather=at_once or 8)
    given: dict[str, Any] = {} if at_once is None else {"batch_size": at_once}
    parallel.batch_query_target_model(models, QUERIES, "sim/sim-small", **given)
    assert simulator.ledger()["peak_in_flight"] == (at_once or 8)


def test_one_failure_does_not_lose_the_others(models, simulator):
    simulator.play({"do": "error", "status": 400, "times": 1})
    answers = parallel.batch_query_target_model(models, QUERIES, "sim/sim-small", batch_size=1)
    assert answers[0] is None
    assert list(answers.errors) == [0]
    assert None not in answers[1:]
    values = parallel.batch_judge_answers(models, answers, ROWS, ["numeric"])
    assert values[0] is None
    assert list(values.errors) == [0]


def test_several_servers_share_the_calls(simulator):
    simulator.change(latency_ms=40)
    with running_simulator(latency_ms=40) as second:
        there = Endpoint(f"{simulator.url}/v1", base_urls=(f"{second.url}/v1",))
        with Models({"sim": there}) as models:
            answers = parallel.batch_query_target_model(models, QUERIES, "sim/sim-small")
        assert None not in answers
        assert second.ledger()["total"] + simulator.ledger()["total"] == len(QUERIES)
        assert second.ledger()["total"] >= 4


def test_texts_are_embedded_without_a_call_by_a_function_or_by_their_words(models, simulator):
    asked: list[tuple[str, str]] = []

    def embed(texts: list[str], device: str) -> list[list[float]]:
        asked.append((texts[0], device))
        return [[3.0, 4.0]]

    found = parallel.batch_encode_queries(models, ["a"], size=8, device="cuda:0", embed=embed)
    assert found[0] == pytest.approx([0.6 * 8**0.5, 0.8 * 8**0.5, 0, 0, 0, 0, 0, 0])
    assert asked == [("a", "cuda:0")]
    # Without a model words are hashed.
    near, same, far = parallel.batch_encode_queries(
        models, ["two red cars", "two red cars!", "why not"]
    )
    assert near == same
    assert np.dot(near or (), far or ()) < 0.5 * np.dot(near or (), same or ())
    assert simulator.ledger()["total"] == 0


def world(models, **given):
    settings: dict[str, Any] = {"operators": OPERATORS, "roles": ROLES, "scorers": ["numeric"]}
    return parallel.BatchedQueryMutationEnv(models, ROWS, 4, **settings, max_steps=2, **given)


def play(one, steps=4):
    observations, infos = one.batch_reset(seed=1)
    found: list[Any] = [observations.tolist(), infos["query"]]
    for step in range(steps):
        actions = [(step + place) % 3 for place in range(4)]
        observations, rewards, terminations, truncations, infos = one.batch_step(actions)
        assert not terminations.any()
        found.append((observations.tolist(), rewards.tolist(), truncations.tolist()))
        found.append(infos["transitions"])
    return found


def test_no_batching_gives_the_same_transitions(models, simulator):
    at_once = play(world(models))
    with Models({"sim": Endpoint(f"{simulator.url}/v1")}) as others:
        assert play(world(others, use_batching=False)) == at_once


def test_an_episode_ends_and_the_next_query_begins_in_the_same_step(models, simulator):
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
    # A failed call is no reward.
    other = world(models, use_batching=False)
    before, infos = other.batch_reset()
    simulator.play({"do": "error", "status": 400, "times": 1})  # the first environment's rewrite
    observations, rewards, _, _, after = other.batch_step([1] * 4)
    assert np.isnan(rewards).tolist() == after["excluded"].tolist() == [True, False, False, False]
    assert after["transitions"][0].excluded[:2] == ("mutator", "refused")
    assert after["query"][0] == infos["query"][0]
    assert observations[0].tolist() == before[0].tolist()
