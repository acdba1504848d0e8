"""The registry that scorers, strategies and agents are entries of: names, options, plug-ins."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field

from workers.engine.named import NamedChoice, Registry, UnknownName, WithOptions, WrongOptions
from workers.engine.named.registry import subclass_of
from workers.engine.plugins import PLUGINS


class Hat(WithOptions):
    """What all hats are."""


class Bowler(Hat):
    """Round and hard.

    A second paragraph is for developers.
    """

    height_cm: int = Field(default=12, ge=1, description="From brim to top.")


class Fabric(Enum):
    FELT = "felt"
    STRAW = "straw"


class Band(BaseModel):
    colour: str = "black"


class StrawHat(Hat):
    label: ClassVar[str] = "Boater"
    summary: ClassVar[str] = "For the river."
    version: ClassVar[int] = 2

    fabric: Fabric = Fabric.STRAW
    fit: Literal["tight", "loose"] = "loose"
    band: Band = Band()


HATS: Registry[Hat] = Registry(
    "hat",
    {"bowler": Bowler},
    adopt=subclass_of(Hat),
    example="{bowler: {height_cm: 14}}",
    recommended="shop.StrawHat",
)


class HatChoice(NamedChoice):
    """A hat."""

    registry: ClassVar[Registry[Any]] = HATS


@pytest.fixture
def installed() -> Iterator[None]:
    PLUGINS.update({"shop.StrawHat": StrawHat, "shop.Hat": Hat, "shop.Band": Band, "shop.ten": 10})
    yield
    PLUGINS.clear()


@pytest.mark.parametrize(
    "written",
    [
        {"bowler": {"height_cm": 14}},
        {"name": "bowler", "height_cm": 14},
        {"name": "bowler", "options": {"height_cm": 14}},
        {"name": "bowler", "options": None, "height_cm": 14},
    ],
)
def test_options_stand_under_the_name_beside_it_or_apart(written: dict[str, Any]) -> None:
    choice = HatChoice.model_validate(written)
    assert (choice.name, choice.options) == ("bowler", {"height_cm": 14})
    assert HATS.choose(choice.name, choice.options).options.height_cm == 14


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("fez", "Unknown hat 'fez'. Choose one of: bowler."),
        ({"name": 3}, "Unknown hat 3. Choose one of: bowler."),
        ({"bowler": {"brim": 2}}, "The hat bowler has no option 'brim'. It takes: height_cm."),
        ({"bowler": {"height_cm": 0}}, "bowler.height_cm: Input should be greater than or equal"),
        ({"bowler": 14}, "written as {bowler: {option: value}}, not as int"),
        ({"name": "bowler", "options": {"height_cm": 1}, "height_cm": 2}, "not both"),
        ([], "A hat is a name, as in bowler, or a name with its options, as in {bowler: {height"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_allowed(written: Any, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        HATS.read(written)


def test_an_entry_describes_itself_and_its_options() -> None:
    (bowler,) = HATS.describe()
    assert (bowler.label, bowler.summary, bowler.version) == ("Bowler", "Round and hard.", 1)
    (height,) = bowler.options
    assert (height.label, height.kind, height.default) == ("Height cm", "number", 12)


@pytest.mark.usefixtures("installed")
def test_plugins_of_the_right_class_join_and_others_do_not() -> None:
    assert list(HATS) == ["bowler", "shop.StrawHat"]
    first, _ = HATS.describe()
    assert (first.name, first.label, first.is_recommended) == ("shop.StrawHat", "Boater", True)
    assert {option.name: option.kind for option in first.options} == {
        "fabric": "choice",
        "fit": "choice",
        "band": "yaml",
    }
    assert first.options[0].choices == ("felt", "straw")


@pytest.mark.usefixtures("installed")
def test_the_schema_of_plugins_stands_by_itself() -> None:
    schema = HatChoice.model_json_schema()
    assert schema["anyOf"][0] == {"enum": ["bowler", "shop.StrawHat"]}
    assert "$ref" not in str(schema)
    straw = schema["anyOf"][-1]
    assert straw["properties"]["name"] == {"enum": ["shop.StrawHat"]}
    assert straw["properties"]["fabric"]["enum"] == ["felt", "straw"]
    assert straw["properties"]["band"]["properties"]["colour"]["default"] == "black"


def test_a_plugin_that_is_gone_is_read_but_cannot_be_chosen() -> None:
    stored = HatChoice.model_validate({"shop.StrawHat": {"fit": "odd"}})
    assert stored.options == {"fit": "odd"}
    with pytest.raises(UnknownName, match=r"Choose one of: bowler\. Those of installed packages"):
        HATS.choose(stored.name, stored.options)
    assert "EVALSITE_PLUGINS" in HATS.problem_with(stored.name, stored.options)


@pytest.mark.usefixtures("installed")
def test_the_options_of_a_plugin_are_checked_where_it_is_chosen() -> None:
    with pytest.raises(WrongOptions, match=r"StrawHat\.fit: Input should be 'tight' or 'loose'"):
        HATS.choose("shop.StrawHat", {"fit": "odd"})
    assert HATS.problem_with("shop.StrawHat", {"fit": "tight"}) == ""
