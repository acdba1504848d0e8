"""The arithmetic of PPO: gradients against finite differences, advantages by hand, equal bits."""

from typing import Any

import numpy as np
import pytest

from workers.engine.kinds.mutate.networks import Network, Shape, times
from workers.engine.kinds.mutate.options import PpoOptions
from workers.engine.kinds.mutate.ppo import Batch, Ppo, Trajectory

INPUTS, ACTIONS = 3, 4


def ppo_with(**given: Any) -> Ppo:
    return Ppo(PpoOptions(hidden_size=5, **given), INPUTS, ACTIONS, seed=3)


def batch_for(ppo: Ppo, size: int = 24) -> Batch:
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


@pytest.mark.parametrize("is_clipped", [True, False])
def test_gradients_are_those_of_finite_differences(is_clipped: bool) -> None:
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


def trajectory(rewards: list[float], ends: list[bool], terminated: list[bool]) -> Trajectory:
    steps = len(rewards)
    rows = np.random.default_rng(1).normal(size=(steps + 1, INPUTS))
    return Trajectory(
        rows[:-1],
        np.zeros(steps, dtype=int),
        np.array(rewards),
        rows[1:],
        np.array(ends),
        np.array(terminated),
    )


def test_advantages_are_cut_where_an_episode_ends_and_bootstrapped_unless_it_is_over() -> None:
    ppo = ppo_with(gamma=0.9, gae_lambda=0.5)
    one = trajectory([1.0, 2.0, 3.0], [False, True, True], [False, False, True])
    values, after = ppo.values(one.observations), ppo.values(one.after)
    third = 3.0 - values[2]
    second = 2.0 + 0.9 * after[1] - values[1]
    first = 1.0 + 0.9 * after[0] - values[0] + 0.9 * 0.5 * second
    assert ppo._advantages(one, values) == pytest.approx([first, second, third])


def test_a_row_is_the_same_alone_and_among_others() -> None:
    random = np.random.default_rng(2)
    rows, weights = random.normal(size=(33, 128)), random.normal(size=(128, 64))
    whole = times(rows, weights)
    assert all((times(rows[n : n + 1], weights) == whole[n]).all() for n in range(33))


def test_weights_survive_being_written() -> None:
    network = Network.drawn(Shape(INPUTS, 5, ACTIONS), np.random.default_rng(0))
    again = Network.read(network.shape, network.write())
    rows = np.ones((2, INPUTS))
    assert (again.run(rows).outputs == network.run(rows).outputs).all()


def test_it_learns_which_action_an_observation_asks_for() -> None:
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
        learned = ppo.learn([Trajectory(rows, actions, rewards, rows, ends, ends)])
        assert learned is not None
        assert learned.kl >= 0
    assert rewards.mean() > 0.85


def test_without_transitions_nothing_is_learnt() -> None:
    ppo = ppo_with()
    before = ppo.actor.write()
    assert ppo.learn([]) is None
    assert ppo.actor.write() == before


def test_the_same_seed_gives_the_same_bits() -> None:
    one = trajectory([1.0, 0.0, 1.0, 0.5] * 4, [False, False, False, True] * 4, [False] * 16)
    written = []
    for _ in range(2):
        ppo = ppo_with()
        ppo.learn([one, one])
        written.append(ppo.actor.write() + ppo.critic.write())
    assert written[0] == written[1]
    assert written[0] != (ppo_with().actor.write() + ppo_with().critic.write())
