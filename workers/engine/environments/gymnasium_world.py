"""Gymnasium's environments, with one agent. The package is imported in the process that plays."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, ClassVar

from pydantic import Field

from workers.engine.environments.base import (
    DrawnWorld,
    Environment,
    OneStep,
    Space,
    Stats,
    Step,
)
from workers.engine.environments.outside_spaces import (
    PICTURES,
    sender_to,
    space_of,
    without_a_screen,
)

# A colon would make Gymnasium import a module of that name.
ID = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)?")
VERSION = re.compile(r"-v\d+$")
# Environments whose episodes were seen to be the same in a new world and in one that was played in.
KNOWN = ("gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
MISSING = (
    "Gymnasium is not installed here. Install it beside the site (pip install -r "
    "requirements/rollout.lock), or choose a mission of the grid world."
)


class GymnasiumWorld:
    def __init__(self, made: Any) -> None:
        self._made = made
        self._sent = sender_to(made.action_space)
        self._step, self._most_steps = without_its_limit(made)
        self._left: float = self._most_steps
        self.spaces: Sequence[Space] = [space_of(made.observation_space, made.action_space)]

    def reset(self, seed: int, map_seed: int) -> Sequence[Any]:
        """It has one seed for everything, so that a map has none of its own."""
        observation, _ = self._made.reset(seed=seed)
        self._left = self._most_steps
        return [observation]

    def step(self, actions: Sequence[Any]) -> Step:
        observation, reward, is_over, _ = self.step_one(actions[0])
        return Step([observation], [reward], is_over)

    def step_one(self, action: Any) -> OneStep:
        """Once for every step of a run: it does nothing that can be done before."""
        observation, reward, terminated, truncated, _ = self._step(self._sent(action))
        self._left -= 1
        is_over = bool(terminated or truncated) or self._left <= 0
        return observation, float(reward), is_over, None

    def stats(self) -> Stats:
        return Stats({}, [{}])

    def sketch(self) -> Mapping[str, Any] | None:
        return None

    def scene(self) -> Any:
        return None

    def picture(self) -> Any:
        return self._made.render()

    def close(self) -> None:
        self._made.close()


class Gymnasium(Environment):
    """Any environment that is registered with Gymnasium, as in `gymnasium/CartPole-v1`."""

    modules: ClassVar[frozenset[str]] = frozenset({"gymnasium"})

    arguments: dict[str, Any] = Field(
        default_factory=dict,
        description="Its arguments, as in {is_slippery: false}.",
    )

    @classmethod
    def variants(cls) -> list[str]:
        if find_spec("gymnasium") is None:
            return []
        import gymnasium

        return sorted(gymnasium.registry)

    @classmethod
    def problem_with(cls, variant: str) -> str:
        if not ID.fullmatch(variant):
            return f"{variant!r} is no name of a Gymnasium environment, as in CartPole-v1."
        known = cls.variants()  # other packages may register more when they are imported
        without_versions = {VERSION.sub("", one) for one in known}  # then it takes the newest
        if not known or "/" in variant or variant in {*known, *without_versions}:
            return ""
        near = get_close_matches(variant, known, 2)
        told = f" Did you mean {' or '.join(near)}?" if near else ""
        return f"Gymnasium has no environment {variant!r}.{told}"

    def why_missing(self) -> str:
        return "" if find_spec("gymnasium") else MISSING

    @classmethod
    def agents_in(cls, variant: str) -> int | None:
        return 1

    def can_play_on(self, variant: str) -> bool:
        """Of others nobody knows what they leave behind."""
        import gymnasium

        spec = gymnasium.registry.get(variant)
        where = str(spec.entry_point) if spec is not None else ""
        return where.startswith(KNOWN) and not self.arguments

    def open(self, variant: str, agents: int | None) -> GymnasiumWorld:
        if agents not in (None, 1):
            raise ValueError(f"Gymnasium's environments have 1 agent, not {agents}.")
        return GymnasiumWorld(self._make(variant, self.arguments))

    def open_drawn(self, variant: str, agents: int | None) -> DrawnWorld | None:
        without_a_screen()
        made = self._make(variant, {**self.arguments, "render_mode": PICTURES})
        return GymnasiumWorld(made) if PICTURES in made.metadata.get("render_modes", ()) else None

    def _make(self, variant: str, arguments: Mapping[str, Any]) -> Any:
        import gymnasium

        try:
            # Its checks of every step would take more time than most environments.
            return gymnasium.make(spec_of(variant), disable_env_checker=True, **arguments)
        except (gymnasium.error.Error, TypeError) as error:
            raise ValueError(f"Gymnasium does not make {variant}: {error}") from None


def without_its_limit(made: Any) -> tuple[Callable[[Any], Any], float]:
    """How to step, and after how many steps all is over. A limit of steps is a wrapper around every
    step, where it is cheaper to count here."""
    from gymnasium.wrappers import TimeLimit

    most = getattr(made, "_max_episode_steps", None)
    if type(made) is TimeLimit and isinstance(most, int):
        return made.env.step, most
    return made.step, math.inf


def spec_of(variant: str) -> Any:
    """Without the look, in every step, whether there was a reset: there always was. Of a name that
    is not registered as it is, Gymnasium itself says what is wrong."""
    import gymnasium

    if variant not in gymnasium.registry:
        return variant
    spec = copy(gymnasium.registry[variant])
    spec.order_enforce = False
    return spec
