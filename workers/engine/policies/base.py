"""What every policy is: its options as a schema, and how an agent acts on what it sees."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from pydantic import ConfigDict

from workers.engine.environments.base import Space
from workers.engine.named import WithOptions

CPU = "cpu"

AskText = Callable[[str], Awaitable[str]]
"""What an asking policy is handed: a question to its model, throttled, cached and billed."""


class Seat(NamedTuple):
    """One agent of one episode, as its policy gets to know it."""

    agent: int
    space: Space
    seed: str  # of its own: the same episode gives the same one, whoever else plays
    device: str = CPU  # where its batch is to be computed: the lane batch alone has others


class Policy(WithOptions):
    """The fields of a policy are its options. One object plays all agents that it was given, in
    many episodes: what an agent remembers belongs into the state that `reset` makes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    asks: ClassVar[bool] = False  # it asks a model, so that its step is a coroutine
    takes_device: ClassVar[bool] = False  # it puts its weights where its seat says
    modules: ClassVar[frozenset[str]] = frozenset()  # to be imported before it plays

    def reset(self, seat: Seat) -> Any:
        """The hidden state of an agent at the beginning of an episode; it may be changed by
        `step`, and is in one place only."""
        return None

    @abstractmethod
    def step(self, observation: Any, state: Any) -> Any:
        """The action of one agent."""

    @property
    def has_batch(self) -> bool:
        """Whether it defines `step_batch`."""
        return type(self).step_batch is not Policy.step_batch

    def step_batch(self, observations: Sequence[Any], states: Sequence[Any]) -> Sequence[Any]:
        """The actions of many agents at once, perhaps of several episodes. Each must be what `step`
        gives for it alone, or runs of the same seed are not equal."""
        return [self.step(one, state) for one, state in zip(observations, states, strict=True)]


class AskingPolicy(Policy):
    """One that asks a model for its action."""

    asks: ClassVar[bool] = True

    def step(self, observation: Any, state: Any) -> Any:
        raise TypeError("A policy that asks a model has no step of its own.")

    @abstractmethod
    async def ask_step(self, observation: Any, state: Any, ask: AskText) -> Any:
        """The action of one agent."""
