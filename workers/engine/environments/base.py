"""What every environment is: its options as a schema, and worlds that agents act in."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from pydantic import ConfigDict

from workers.engine.named import WithOptions


class Space(NamedTuple):
    """What one agent sees and may do."""

    features: int  # numbers in an observation, flattened
    actions: int | None  # so many to choose from, from 0 on; None: a list of numbers
    low: tuple[float, ...] = ()  # of such a list
    high: tuple[float, ...] = ()

    @property
    def noop(self) -> Any:
        """What is done for an agent that gives no action: nothing, where the environment has that
        as its first one, else the middle between the bounds."""
        if self.actions is not None:
            return 0
        return [(low + high) / 2 for low, high in zip(self.low, self.high, strict=True)]


class Step(NamedTuple):
    """What one step of all agents led to. An agent that is out sees None from then on."""

    observations: Sequence[Any]
    rewards: Sequence[float]
    is_over: bool


class Stats(NamedTuple):
    """What a world counted in one episode."""

    game: Mapping[str, float] = {}
    agents: Sequence[Mapping[str, float]] = ()


OneStep = tuple[Any, float, bool, Any]
"""Of an only agent: what it sees now, what it got, whether all is over, and the scene."""


class World(Protocol):
    """One world with its agents, played again and again. Nothing of an episode may reach the
    next: the same seed gives the same episode whatever was played before."""

    spaces: Sequence[Space]  # of each agent

    def reset(self, seed: int, map_seed: int) -> Sequence[Any]:
        """The first observations of all agents."""
        ...

    def step(self, actions: Sequence[Any]) -> Step:
        """`actions` has one for each agent, None for those that are out."""
        ...

    def stats(self) -> Stats: ...

    def sketch(self) -> Mapping[str, Any] | None:
        """The scene at the beginning, as the page draws it; `actions` may name what agents do.
        None: it draws nothing."""
        ...

    def scene(self) -> Any:
        """What of it is another one now, in as few numbers as possible."""
        ...

    def close(self) -> None: ...


def step_of_one(world: World, *, with_scenes: bool) -> Callable[[Any], OneStep]:
    """How the only agent of a world acts. A world may have a shorter way of its own, `step_one`:
    lists of one, made anew in every step, take a part of the time of many environments."""
    own: Callable[[Any], OneStep] | None = getattr(world, "step_one", None)
    if own is not None:
        return own

    def step(action: Any) -> OneStep:
        (observation,), (reward,), is_over = world.step([action])
        return observation, reward, is_over, world.scene() if with_scenes else None

    return step


class DrawnWorld(World, Protocol):
    """A world that can be looked at. It is only opened for pictures, and nobody plays in it."""

    def picture(self) -> Any:
        """As it is now: an array of rows, columns and red, green and blue, 0 to 255 each."""
        ...


class Environment(WithOptions):
    """The fields of an environment are its options. It is sent to the process that plays it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    modules: ClassVar[frozenset[str]] = frozenset()  # to be imported before a world is opened

    @classmethod
    @abstractmethod
    def variants(cls) -> list[str]:
        """The names below its own, for wildcards and the form."""

    @classmethod
    def problem_with(cls, variant: str) -> str:
        """What is wrong with a name below its own. Empty: nothing that can be known here."""
        known = cls.variants()
        if variant in known:
            return ""
        return f"Unknown variant {variant!r}. Choose one of: {', '.join(known)}."

    def why_missing(self) -> str:
        """Why it cannot be played on this machine. Empty: it can."""
        return ""

    @classmethod
    def agents_in(cls, variant: str) -> int | None:
        """How many agents it has if the mission does not say; None: only a world can tell."""
        return None

    def can_play_on(self, variant: str) -> bool:
        """Whether a world of it is known to keep to what a world is, so that the next episode can
        be played in the same one. Else each has a new one."""
        return False

    @abstractmethod
    def open(self, variant: str, agents: int | None) -> World:
        """A world of it. ValueError says what is wrong with the variant or the agents."""

    def open_drawn(self, variant: str, agents: int | None) -> DrawnWorld | None:
        """The same world, for pictures. None: it draws none, or its scenes are enough."""
        return None
