"""What a policy learns by: PPO, a bandit, or nothing. To add one: a class, a line in LEARNERS."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from hashlib import sha256
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from workers.engine.json_text import to_json
from workers.engine.kinds.mutate.acting import write_network, write_shares
from workers.engine.kinds.mutate.options import PpoOptions, TrainingOptions, UcbOptions
from workers.engine.kinds.mutate.segments import Sample
from workers.engine.named import Registry
from workers.engine.named.registry import subclass_of

if TYPE_CHECKING:
    from workers.engine.kinds.mutate.ppo import Trajectory

OptionsType = TypeVar("OptionsType", bound=TrainingOptions)
Document = dict[str, Any]


class Sizes:
    """What a learner must know of the run."""

    def __init__(self, inputs: int, actions: int, seed: int) -> None:
        self.inputs, self.actions, self.seed = inputs, actions, seed


class Learner(ABC, Generic[OptionsType]):
    label: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    version: ClassVar[int] = 1
    options_type: ClassVar[type[TrainingOptions]]

    def __init__(self, options: OptionsType, sizes: Sizes) -> None:
        self.options = options
        self._sizes = sizes

    @classmethod
    def options_model(cls) -> type[TrainingOptions]:
        return cls.options_type

    @abstractmethod
    def policy(self) -> Document:
        """What it does in the next update, as `policy_of` reads it."""

    def settled(self) -> Document:
        """What it does when it is not learning any more."""
        return self.policy()

    @abstractmethod
    def learn(self, segments: Sequence[Sequence[Sample]], progress: float) -> Document:
        """From the segments of an update that did not fail. Gives figures about it."""

    @classmethod
    def work(cls, options: Any, sizes: Sizes) -> int:
        """What learning from an update takes, in multiplications. 0: next to nothing."""
        return 0

    @abstractmethod
    def digest(self) -> str:
        """Of all that was learnt."""


class Uniform(Learner[TrainingOptions]):
    summary: ClassVar[str] = "Applies every operator equally often, and learns nothing."
    options_type: ClassVar[type[TrainingOptions]] = TrainingOptions

    def policy(self) -> Document:
        return write_shares([1.0 / self._sizes.actions] * self._sizes.actions)

    def learn(self, segments: Sequence[Sequence[Sample]], progress: float) -> Document:
        return {"entropy": log(self._sizes.actions), "kl": 0.0}

    def digest(self) -> str:
        return sha256(to_json(self.policy())).hexdigest()


class Bandit:
    """Counts and rewards of each operator, and the upper bounds of their means (UCB1)."""

    def __init__(self, actions: int, exploration: float) -> None:
        self._exploration = exploration
        self.counts = [0] * actions
        self.sums = [0.0] * actions

    def add(self, samples: Sequence[Sample]) -> None:
        for sample in samples:
            self.counts[sample.action] += 1
            self.sums[sample.action] += sample.reward

    def spread(self, pulls: int) -> list[int]:
        """How often it would use each in so many steps, if each went on to give its mean."""
        counts = list(self.counts)
        for _ in range(pulls):
            bounds = [self._bound(action, counts) for action in range(len(counts))]
            counts[bounds.index(max(bounds))] += 1
        return [after - before for after, before in zip(counts, self.counts, strict=True)]

    def best(self) -> int:
        means = [
            total / count if count else -inf
            for total, count in zip(self.sums, self.counts, strict=True)
        ]
        return means.index(max(means))

    def _bound(self, action: int, counts: Sequence[int]) -> float:
        if not counts[action]:
            return inf
        mean = self.sums[action] / self.counts[action] if self.counts[action] else 0.0
        return mean + self._exploration * sqrt(log(sum(counts)) / counts[action])


class Ucb(Learner[UcbOptions]):
    label: ClassVar[str] = "UCB"
    summary: ClassVar[str] = (
        "Applies the operator with the highest upper confidence bound, whatever the query."
    )
    options_type: ClassVar[type[TrainingOptions]] = UcbOptions

    def __init__(self, options: UcbOptions, sizes: Sizes) -> None:
        super().__init__(options, sizes)
        self._bandit = Bandit(sizes.actions, options.exploration)

    def policy(self) -> Document:
        steps = self.options.num_processes * self.options.num_steps
        return write_shares([pulls / steps for pulls in self._bandit.spread(steps)])

    def settled(self) -> Document:
        return always(self._bandit.best(), self._sizes.actions)

    def learn(self, segments: Sequence[Sequence[Sample]], progress: float) -> Document:
        shares = self.policy()["shares"]
        for samples in segments:
            self._bandit.add(samples)
        return {"entropy": -sum(one * log(one) for one in shares if one), "kl": None}

    def digest(self) -> str:
        return sha256(to_json([self._bandit.counts, self._bandit.sums])).hexdigest()


class PpoLearner(Learner[PpoOptions]):
    label: ClassVar[str] = "PPO"
    summary: ClassVar[str] = (
        "Proximal policy optimisation: a network learns which operator to apply to which query."
    )
    options_type: ClassVar[type[TrainingOptions]] = PpoOptions

    def __init__(self, options: PpoOptions, sizes: Sizes) -> None:
        from workers.engine.kinds.mutate.ppo import Ppo

        super().__init__(options, sizes)
        self._ppo = Ppo(options, sizes.inputs, sizes.actions, sizes.seed)

    @classmethod
    def work(cls, options: PpoOptions, sizes: Sizes) -> int:
        hidden = options.hidden_size
        weights = 2 * (sizes.inputs + hidden) * hidden + (sizes.actions + 1) * hidden
        return options.num_processes * options.num_steps * options.ppo_epoch * weights

    def policy(self) -> Document:
        return write_network(self._ppo.actor)

    def learn(self, segments: Sequence[Sequence[Sample]], progress: float) -> Document:
        found = [trajectory_of(samples) for samples in segments if samples]
        learned = self._ppo.learn(found, progress)
        return {} if learned is None else learned._asdict()

    def digest(self) -> str:
        kept = self._ppo.actor.write() + self._ppo.critic.write()
        return sha256(kept).hexdigest()


def always(action: int, actions: int) -> Document:
    return write_shares([float(place == action) for place in range(actions)])


def trajectory_of(samples: Sequence[Sample]) -> "Trajectory":
    import numpy as np

    from workers.engine.kinds.mutate.ppo import Trajectory

    def rows(observations: Sequence[Any]) -> Any:
        return np.array(observations, dtype=np.float64)

    return Trajectory(
        rows([one.observation for one in samples]),
        np.array([one.action for one in samples]),
        np.array([one.reward for one in samples]),
        rows([one.after for one in samples]),
        np.array([one.ends for one in samples]),
        np.zeros(len(samples), dtype=bool),
    )


LEARNERS: Registry[Learner[Any]] = Registry(
    "learner",
    {"ppo": PpoLearner, "ucb": Ucb, "uniform": Uniform},
    adopt=subclass_of(Learner),
    example="{name: ppo, num_processes: 16, updates: 20}",
    recommended="ppo",
)
