"""What is sent to the process that plays, and what comes back. All of it can be pickled."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workers.engine.environments import Environment
from workers.engine.policies import CPU, Policy

INLINE = "inline"  # one agent after the other, in the process of the episode
THREAD = "thread"
BATCH = "batch"
PROCESS = "process"
ASYNC = "async"
DRAWING_SECONDS = 20.0  # that pictures of an episode may take, beyond the time to play it


class Player(NamedTuple):
    policy: Policy
    lane: str  # INLINE, THREAD, BATCH or PROCESS: how its agents act inside an episode
    share: float = 1.0


class Clocks(NamedTuple):
    """How long an agent may take to act."""

    action_seconds: float | None = None  # None: as long as the episode
    overage_seconds: float | None = None  # of an agent in a whole episode, beyond that


class EpisodePlan(NamedTuple):
    seed: int
    map_seed: int
    draws: bool = False  # whether its replay has pictures

    @property
    def drawing_seconds(self) -> float:
        return DRAWING_SECONDS if self.draws else 0.0


class GamePlan(NamedTuple):
    """Episodes of one mission with the same players."""

    environment: Environment
    variant: str
    agents: int | None
    max_steps: int
    players: tuple[Player, ...]
    clocks: Clocks
    episodes: tuple[EpisodePlan, ...]
    at_once: int = 1  # agents that may act at once, in threads or processes
    keeps_replay: bool = True
    device: str = CPU  # where batches are computed, by policies that take one

    def device_of(self, player: int) -> str:
        one = self.players[player]
        return self.device if one.lane == BATCH and one.policy.takes_device else CPU


class Episode(NamedTuple):
    """What became of one, by agent where it says so."""

    seed: int
    steps: int
    is_over: bool  # the environment ended it; else it came to its last step
    assignments: tuple[int, ...]
    rewards: tuple[float, ...]
    timeouts: tuple[int, ...]
    out_at: tuple[int | None, ...]  # the step from which on an agent was late for good
    game_stats: Mapping[str, float]
    agent_stats: Sequence[Mapping[str, float]]
    digest: str  # of seats, actions and rewards
    seconds: float
    policy_seconds: float  # of these, that agents took to act
    world_seconds: float
    exchange_seconds: float = 0.0  # of the policy's, that went into sending to other processes
    record: bytes | None = None  # the replay as JSON
    started: float = 0.0  # seconds since 1970, by the clock of its machine
    drawn: bool = False  # there are pictures in the record

    @property
    def value(self) -> float:
        """The mean return of an agent."""
        return sum(self.rewards) / len(self.rewards)


class Failure(NamedTuple):
    """An episode without a result. It is never one with zeros."""

    cause: str  # "configuration", "policy", "environment" or "timeout"
    message: str
    step: int | None = None  # None: before the first

    @property
    def told(self) -> str:
        return self.message if self.step is None else f"Step {self.step}: {self.message}"
