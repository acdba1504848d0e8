"""Trains the PPO of runs of kind mutate on Gymnasium's CartPole-v1: is it a right PPO?

Usage: .venv/bin/python scripts/ppo_cartpole.py [SEEDS] [STEPS]
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from workers.engine.kinds.mutate.options import PpoOptions
from workers.engine.kinds.mutate.ppo import Ppo, Trajectory

EPISODES = 100
# As usual for this game. Its values are near 50, so that a clip of 0.2 would hold them back.
OPTIONS = PpoOptions(
    num_processes=8,
    num_steps=32,
    ppo_epoch=20,
    num_mini_batch=1,
    lr=1e-3,
    gamma=0.98,
    gae_lambda=0.8,
    entropy_coef=0.0,
    use_clipped_value_loss=False,
    use_linear_lr_decay=True,
)


class Moment(NamedTuple):
    observation: Any
    action: int
    reward: float
    after: Any
    ends: bool
    terminated: bool


class Player:
    """One environment, which begins anew by itself."""

    def __init__(self, seed: int) -> None:
        self._world: Any = gymnasium.make("CartPole-v1")
        self.observation, _ = self._world.reset(seed=seed)
        self._return = 0.0
        self.returns: list[float] = []

    def step(self, action: int) -> Moment:
        before = self.observation
        after, reward, terminated, truncated, _ = self._world.step(action)
        self._return += reward
        self.observation = after
        if terminated or truncated:
            self.returns.append(self._return)
            self._return = 0.0
            self.observation, _ = self._world.reset()
        return Moment(before, action, reward, after, terminated or truncated, terminated)


def trajectory_of(moments: list[Moment]) -> Trajectory:
    columns = [np.array(column) for column in zip(*moments, strict=True)]
    observations, actions, rewards, after, ends, terminated = columns
    ends[-1] = True
    as_float = np.float64
    return Trajectory(
        observations.astype(as_float), actions, rewards, after.astype(as_float), ends, terminated
    )


def train(seed: int, steps: int) -> Ppo:
    ppo, random = Ppo(OPTIONS, 4, 2, seed), np.random.default_rng(seed)
    players = [Player(seed * 1000 + place) for place in range(OPTIONS.num_processes)]
    updates = steps // OPTIONS.num_steps // OPTIONS.num_processes
    for update in range(updates):
        moments: list[list[Moment]] = [[] for _ in players]
        for _ in range(OPTIONS.num_steps):
            rows = np.array([player.observation for player in players], dtype=np.float64)
            shares = np.exp(ppo.log_probabilities(rows))[:, 0]
            for place, player in enumerate(players):
                moments[place].append(player.step(int(random.random() >= shares[place])))
        ppo.learn([trajectory_of(one) for one in moments], update / updates)
    return ppo


def play(ppo: Ppo, seed: int) -> float:
    """The mean return of episodes in which it does what it finds likeliest."""
    player = Player(90_000 + seed)
    while len(player.returns) < EPISODES:
        row = np.asarray(player.observation, dtype=np.float64)[None]
        player.step(int(ppo.log_probabilities(row)[0].argmax()))
    return sum(player.returns) / EPISODES


def main() -> None:
    seeds, steps = (int(one) for one in (*sys.argv[1:3], *("5", "100000")[len(sys.argv) - 1 :]))
    for seed in range(seeds):
        found = play(train(seed, steps), seed)
        print(f"seed {seed}: mean return {found:.1f} of {EPISODES} episodes after {steps:,} steps")


if __name__ == "__main__":
    main()
