"""PettingZoo's parallel environments, with many agents. Imported in the process that plays."""

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from pydantic import Field

from workers.engine.environments.base import DrawnWorld, Environment, Space, Stats, Step
from workers.engine.environments.outside_spaces import (
    PICTURES,
    sender_to,
    space_of,
    without_a_screen,
)

PATH = re.compile(r"[a-z0-9_]+(?:/[a-z0-9_]+)*")  # a module below pettingzoo, and no other
MISSING = (
    "PettingZoo is not installed here. Install it beside the site (pip install -r "
    "requirements/rollout.lock), or choose a mission of the grid world."
)


class PettingZooWorld:
    """An agent that is out keeps its place: it sees None and earns nothing any more."""

    def __init__(self, made: Any) -> None:
        self._made = made
        self._names = list(made.possible_agents)
        self._senders = [sender_to(made.action_space(name)) for name in self._names]
        self.spaces: Sequence[Space] = [
            space_of(made.observation_space(name), made.action_space(name)) for name in self._names
        ]

    def reset(self, seed: int, map_seed: int) -> Sequence[Any]:
        """It has one seed for everything, so that a map has none of its own."""
        observations, _ = self._made.reset(seed=seed)
        for place, name in enumerate(self._names):
            self._made.action_space(name).seed(seed + place)
        return [observations.get(name) for name in self._names]

    def step(self, actions: Sequence[Any]) -> Step:
        live = set(self._made.agents)
        sent = {
            name: sent(action)
            for name, sent, action in zip(self._names, self._senders, actions, strict=True)
            if name in live
        }
        observations, rewards, _, _, _ = self._made.step(sent)
        still = set(self._made.agents)
        return Step(
            [observations.get(name) if name in still else None for name in self._names],
            [float(rewards.get(name, 0.0)) for name in self._names],
            not still,
        )

    def stats(self) -> Stats:
        return Stats({}, [{} for _ in self._names])

    def sketch(self) -> Mapping[str, Any] | None:
        return None

    def scene(self) -> Any:
        return None

    def picture(self) -> Any:
        return self._made.render()

    def close(self) -> None:
        self._made.close()


class PettingZoo(Environment):
    """Any parallel environment of PettingZoo, by its module, as in `pettingzoo/sisl/pursuit_v5`."""

    label: ClassVar[str] = "PettingZoo"
    modules: ClassVar[frozenset[str]] = frozenset({"pettingzoo"})

    arguments: dict[str, Any] = Field(
        default_factory=dict, description="Arguments of the environment, as in {max_cycles: 50}."
    )

    @classmethod
    def variants(cls) -> list[str]:
        """None are listed: its modules need packages of their own, and only an import tells."""
        return []

    @classmethod
    def problem_with(cls, variant: str) -> str:
        if PATH.fullmatch(variant):
            return ""
        return f"{variant!r} is no module of PettingZoo, as in sisl/pursuit_v5."

    def why_missing(self) -> str:
        return "" if find_spec("pettingzoo") else MISSING

    def open(self, variant: str, agents: int | None) -> PettingZooWorld:
        world = PettingZooWorld(self._make(variant, self.arguments))
        if agents not in (None, len(world.spaces)):
            told = f"{variant} has {len(world.spaces)} agents, not {agents}."
            raise ValueError(f"{told} Say so in its arguments.")
        return world

    def open_drawn(self, variant: str, agents: int | None) -> DrawnWorld | None:
        without_a_screen()
        made = self._make(variant, {**self.arguments, "render_mode": PICTURES})
        return PettingZooWorld(made) if PICTURES in made.metadata.get("render_modes", ()) else None

    def _make(self, variant: str, arguments: Mapping[str, Any]) -> Any:
        module = "pettingzoo." + variant.replace("/", ".")
        try:
            return import_module(module).parallel_env(**arguments)
        except (ImportError, AttributeError, TypeError) as error:
            raise ValueError(f"PettingZoo does not make {variant}: {error}") from None
