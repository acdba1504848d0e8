"""What every entry of a registry tells about itself."""

import inspect
from typing import ClassVar, NamedTuple, Protocol, Self

from pydantic import BaseModel, ConfigDict

from workers.engine.named.options import OptionDescription


class Named(Protocol):
    label: ClassVar[str]
    """As a form names it. Empty: made of its name."""
    summary: ClassVar[str]
    """One or two sentences that help to choose. Empty: the first paragraph of its docstring."""
    version: ClassVar[int]
    """Raised when the same options come to mean something else."""

    @classmethod
    def options_model(cls) -> type[BaseModel]:
        """Its options: every field with a description, which form and reference show."""
        ...


class WithOptions(BaseModel):
    """A named thing whose own fields are its options."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    version: ClassVar[int] = 1

    @classmethod
    def options_model(cls) -> type[Self]:
        return cls


class Description(NamedTuple):
    """An entry as a form and the reference show it."""

    name: str
    label: str
    summary: str
    version: int
    options: tuple[OptionDescription, ...]
    is_recommended: bool = False


def label_of(name: str, thing: type[Named]) -> str:
    """A plug-in without a label goes by the last part of its name."""
    if thing.label:
        return thing.label
    own = name.rpartition(".")[2].replace("_", " ")
    return own[:1].upper() + own[1:]


def summary_of(thing: type[Named]) -> str:
    """Only its own docstring counts: that of a base class says what all of them are."""
    told = thing.summary or inspect.cleandoc(vars(thing).get("__doc__") or "").split("\n\n")[0]
    return " ".join(told.split())
