"""Chooses an operator for an observation: by a network, or by fixed shares.

The draw is seeded by run, update, environment and step, so that the same policy does the same
whoever plays the segment, in whatever order.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from workers.engine.kinds.mutate.observing import Observation

if TYPE_CHECKING:
    from workers.engine.kinds.mutate.networks import Network


class Action(NamedTuple):
    place: int  # among the operators
    probability: float


class Policy(Protocol):
    def probabilities(self, observation: Observation) -> Sequence[float]: ...


class Shares:
    """The same for every query."""

    def __init__(self, shares: Sequence[float]) -> None:
        self._shares = tuple(shares)

    def probabilities(self, observation: Observation) -> Sequence[float]:
        return self._shares


class Actor:
    def __init__(self, network: "Network") -> None:
        self._network = network

    def probabilities(self, observation: Observation) -> Sequence[float]:
        import numpy as np

        from workers.engine.kinds.mutate.networks import log_softmax

        rows = np.asarray(observation, dtype=np.float64)[None]
        found = np.exp(log_softmax(self._network.run(rows).outputs))[0]
        return [float(number) for number in found]


def choose(policy: Policy, observation: Observation, *occasion: object) -> Action:
    """`occasion`: seed, update, environment and step."""
    shares = policy.probabilities(observation)
    drawn = Random(" ".join(map(str, occasion))).random() * sum(shares)
    for place, share in enumerate(shares):
        drawn -= share
        if drawn < 0:
            return Action(place, share)
    place = max(range(len(shares)), key=shares.__getitem__)  # what rounding left over
    return Action(place, shares[place])


def write_network(network: "Network") -> dict[str, Any]:
    return {"network": list(network.shape), "weights": b64encode(network.write()).decode()}


def write_shares(shares: Sequence[float]) -> dict[str, Any]:
    return {"shares": list(shares)}


def policy_of(document: Mapping[str, Any]) -> Policy:
    if "shares" in document:
        return Shares(document["shares"])
    return _actor(tuple(document["network"]), document["weights"])


@lru_cache(maxsize=8)
def _actor(shape: tuple[int, int, int], weights: str) -> Actor:
    from workers.engine.kinds.mutate.networks import Network, Shape

    return Actor(Network.read(Shape(*shape), b64decode(weights)))
