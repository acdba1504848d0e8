"""Policies as a configuration names them, and the candidates that they make."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from workers.engine.json_text import digest
from workers.engine.named import NamedChoice, Registry
from workers.engine.policies import POLICIES, Policy
from workers.engine.records import Candidate
from workers.engine.spec.model_choice import ModelChoice

LaneName = Literal["auto", "async", "thread", "process", "batch"]
OWN_FIELDS = ("share", "lane")


class PolicyChoice(NamedChoice):
    """A policy: its name, or its name with options, its share of the agents and its lane."""

    registry: ClassVar[Registry[Any]] = POLICIES

    share: Annotated[float, Field(gt=0, le=1_000_000)] | None = Field(
        None, description="Its part of the agents, beside those of the other policies."
    )
    lane: LaneName | None = Field(None, description="Where it plays; empty: as all of them.")

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or "name" not in value:
            return cls.registry.read(value)._asdict()
        own = {name: value[name] for name in OWN_FIELDS if name in value}
        rest = {name: given for name, given in value.items() if name not in OWN_FIELDS}
        return {**cls.registry.read(rest)._asdict(), **own}

    @property
    def label(self) -> str:
        """As people tell policies apart."""
        told = ", ".join(f"{key}={short(value)}" for key, value in sorted(self.options.items()))
        return f"{self.name} ({told})" if told else self.name

    def build(self) -> Policy:
        made: Policy = POLICIES.choose(self.name, self.options).options
        return made

    @property
    def model(self) -> ModelChoice | None:
        """The model that it asks, if it does."""
        given = self.options.get("model")
        if given is None or self.name not in POLICIES or not POLICIES[self.name].asks:
            return None
        return ModelChoice.model_validate(given)

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name, "options": self.options, "label": self.label}
        return found | {"share": self.share or 1.0, "lane": self.lane}


def short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 20 else f"{text[:17]}…"


def candidates_of(choices: Sequence[PolicyChoice], *, together: bool) -> list[Candidate]:
    """All of them in one mix, or each alone."""
    mixes = [list(choices)] if together else [[one] for one in choices]
    found = []
    for mix in mixes:
        document: dict[str, Any] = {"policies": [one.document() for one in mix]}
        models = [one.model for one in mix]
        document["models"] = [model.model_dump() for model in models if model is not None]
        found.append(Candidate(digest(document)[:16], name_of(mix), document))
    return found


def name_of(mix: Sequence[PolicyChoice]) -> str:
    if len(mix) == 1:
        return mix[0].label[:200]
    return " + ".join(f"{one.share or 1:g} x {one.label}" for one in mix)[:200]
