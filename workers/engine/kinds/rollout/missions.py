"""Missions as a configuration names them, with wildcards, and the episodes that they are."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import Field, model_validator

from workers.engine.environments import ENVIRONMENTS, Environment
from workers.engine.plugins import is_plugin_name
from workers.engine.spec.model_choice import Strict, also_written
from workers.engine.spec.parts import NotSwitch

WILD = frozenset("*?[")
LONGEST = 200
MOST_MISSIONS = 200


class Mission(Strict):
    """Where policies play: `grid/harvest`, or with its options."""

    model_config = {"json_schema_extra": also_written({"type": "string", "maxLength": LONGEST})}

    environment: Annotated[str, Field(min_length=1, max_length=LONGEST)] = Field(
        description="The environment and what of it, as in grid/harvest, gymnasium/CartPole-v1 or "
        "pettingzoo/sisl/pursuit_v5. With * or ? all that fit: grid/*."
    )
    name: Annotated[str, Field(max_length=100)] = Field(
        "", description="Another name, of a mission that is there twice. Empty: the environment's."
    )
    max_steps: Annotated[int, Field(ge=1, le=100_000), NotSwitch] = Field(
        1000, description="An episode ends after so many steps, if not before."
    )
    agents: Annotated[int, Field(ge=1, le=1000), NotSwitch] | None = Field(
        None, description="How many agents play. Empty: as many as the environment has."
    )
    map_seed: Annotated[int, Field(ge=0, le=2**53), NotSwitch] | None = Field(
        None, description="The seed of the map, for all episodes. Empty: each has its own."
    )
    options: dict[str, Any] = Field({}, description="Options of the environment.")

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        return {"environment": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def check_environment(self) -> "Mission":
        family, variant = self.family, self.variant
        if is_plugin_name(family):
            return self  # only the installed plug-ins can tell
        thing = ENVIRONMENTS.choose(family, self.options).thing
        if not self.is_wild and (told := thing.problem_with(variant)):
            raise ValueError(told)
        return self

    @property
    def family(self) -> str:
        return self.environment.partition("/")[0]

    @property
    def variant(self) -> str:
        return self.environment.partition("/")[2]

    @property
    def is_wild(self) -> bool:
        return not WILD.isdisjoint(self.environment)

    @property
    def label(self) -> str:
        return self.name or self.environment

    def found(self) -> list["Mission"]:
        """Itself, or all that its wildcards fit, in the order of their names."""
        if not self.is_wild:
            return [self]
        variants = ENVIRONMENTS.find(self.family).variants()
        fitting = [one for one in variants if fnmatchcase(one, self.variant)]
        return [self.model_copy(update={"environment": f"{self.family}/{one}"}) for one in fitting]

    def count_agents(self) -> int:
        """As far as it is known before anything is opened."""
        known = None if self.is_wild else ENVIRONMENTS.find(self.family).agents_in(self.variant)
        return self.agents or known or 1

    def build(self) -> Environment:
        """With its options, checked."""
        made: Environment = ENVIRONMENTS.choose(self.family, self.options).options
        return made

    def problem(self) -> str:
        """What only this installation can tell. Empty: nothing is wrong."""
        if told := ENVIRONMENTS.problem_with(self.family, self.options):
            return told
        environment = self.build()
        if told := environment.why_missing():
            return told
        if self.is_wild and not self.found():
            return f"No environment fits {self.environment!r}."
        return "" if self.is_wild else environment.problem_with(self.variant)


def expand(missions: list[Mission]) -> Iterator[Mission]:
    """All of them, each once."""
    known = set()
    for mission in missions:
        for one in mission.found():
            if one.label not in known:
                known.add(one.label)
                yield one
