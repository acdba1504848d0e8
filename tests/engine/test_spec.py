"""What a configuration may say, and what is refused and how; and the registry."""

import re
from enum import Enum
from typing import Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field

from tests.harness.table import row, table
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.kinds.evaluate import Evaluation
from workers.engine.named import NamedChoice, Registry, UnknownName, WithOptions, WrongOptions
from workers.engine.named.registry import subclass_of
from workers.engine.plugins import PLUGINS
from workers.engine.spec.checks import check_against
from workers.engine.spec.configuration import count_trials

STORED: dict[str, Any] = {
    "endpoints": {"simulated": ()},
    "columns": ["question", "expected"],
    "cases": 1,
}


def problems_of(document):
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(document)
    return dict(caught.value.problems)


def problems_beside(document, **stored):
    """Of one that can be read, but does not fit what is stored."""
    configuration = read_configuration(document)
    with pytest.raises(ConfigurationError) as caught:
        check_against(configuration, **{**STORED, **stored})
    return dict(caught.value.problems)


def test_short_and_long_forms_mean_the_same(document):
    models = [{"endpoint": "simulated", "model": name} for name in ("sim-small", "sim-large")]
    long = {**document, "dataset": {"name": "sums"}, "models": models}
    assert read_configuration(long) == read_configuration(document)
    document["models"] = ["router/vendor/model"]
    [model] = read_configuration(document).called
    assert (model.endpoint, model.model) == ("router", "vendor/model")


def test_every_problem_is_listed_at_once(document):
    for no_mapping in (None, 3, "kind: evaluate", ["evaluate"]):
        assert "mapping" in problems_of(no_mapping)[""]
    del document["dataset"]
    wrong = {"colour": "red", "repeats": 0, "limits": {"max_concurrent": "many"}}
    listed = {"models": ["nowhere"], "scorers": ["vibes"], "prompts": [{"name": "a", "usr": "b"}]}
    budget = {"dollars": 0, "calls": -1, "hours": 3}
    assert set(problems_of({**document, **wrong, **listed, "budget": budget})) == {
        *("dataset", "colour", "repeats", "limits.max_concurrent"),
        *("models.0", "scorers.0", "prompts.0.usr"),
        *("budget.dollars", "budget.calls", "budget.hours"),
    }


CUT = "score_truncated"


def with_parameters(**parameters):
    return {"models": [{"endpoint": "x", "model": "y", "parameters": parameters}]}


@table(
    ({"colour": 1}, "colour", "Allowed here: name, kind, seed"),
    ({"kind": "dance"}, "kind", "'evaluate'"),
    ({"prompts": []}, "prompts", "Add at least one prompt."),
    ({"prompts": [{"name": "a"}, {"name": "a"}]}, "prompts", "Given twice: a"),
    ({"models": ["x/y", "x/y"]}, "models", "Given twice"),
    (with_parameters(temperature="hot"), "models.0.parameters", "a number from 0 to 10"),
    (with_parameters(temperature=True), "models.0.parameters", "temperature is True"),
    (with_parameters(top_p=1.5), "models.0.parameters", "a number from 0 to 1"),
    (with_parameters(max_tokens=0), "models.0.parameters", "a whole number from 1"),
    (with_parameters(max_tokens=float("nan")), "models.0.parameters", "whole number"),
    ({"scorers": ["vibes"]}, "scorers.0", "exact, contains, starts_with"),
    ({"scorers": [{"name": "exact", "option": 1}]}, "scorers.0", "takes: ignore_case, strip"),
    ({"seed": True}, "seed", "not true or false"),
    ({"limits": {"adaptive": 1}}, "limits.adaptive", "valid boolean"),
    ({"seed": 2**63}, "seed", "less than or equal"),
    ({"dataset": {"rows": []}}, "dataset.rows", "Add at least one row."),
    ({"dataset": ""}, "dataset.name", "Choose a dataset."),
    ({"dataset": {"name": "sums", "first": 0}}, "dataset.first", "greater than or equal to 1"),
    ({"models": []}, "models", "Choose at least one model."),
    ({"scorers": []}, "scorers", "Choose at least one scorer."),
    ({"name": ""}, "name", "Enter a name."),
    ({"prompts": [{"name": "a", "user": ""}]}, "prompts.0.user", "Enter a prompt."),
    ({"cache": True}, "cache", "not a mode of the cache. Choose use, refresh or off"),
    ({"cache": 0}, "cache", "'use', 'refresh' or 'off'"),
    ({"dataset": {}}, "dataset", "one of the two"),
    ({"limits": {"preset": "warp"}}, "limits.preset", "'conservative', 'balanced'"),
    ({"limits": {"speed": 1}}, "limits.speed", "Allowed here: preset, max_concurrent"),
    ({"limits": {"attempts": 0}}, "limits.attempts", "greater than or equal to 1, got 0"),
    ({"budget": {"calls": "many"}}, "budget.calls", "valid integer"),
    ({"budget": {"seconds": float("inf")}}, "budget.seconds", "finite number"),
    ({"budget": {"dollars": -2}}, "budget.dollars", "greater than 0, got -2"),
    ({"budget": {"max_cost": 2}}, "budget.max_cost", "Allowed here: dollars, calls, seconds"),
    ({"budget": 5}, "budget", "valid dictionary"),
    *(({"answers": {CUT: odd}}, f"answers.{CUT}", "a valid boolean") for odd in ("yes", 1, None)),
)
def test_a_problem_says_where_and_what_is_allowed(document, change, path, words):
    assert words in problems_of({**document, **change})[path]


def test_off_and_no_limit_can_be_asked_for(document):
    assert read_configuration({**document, "cache": False}).cache == "off"  # as YAML says it
    assert False in Evaluation.model_json_schema()["properties"]["cache"]["enum"]
    document["limits"] = {"preset": "balanced", "requests_per_minute": None}
    assert read_configuration(document).limits.requests_per_minute is None
    document["repeats"] = 3
    assert count_trials(read_configuration(document), 10**6) == 12 * 10**6


def test_what_the_stored_parts_tell_is_checked_too(document):
    document["prompts"][0]["user"] = "{{question}} {{answer}}"
    document["repeats"] = 1000
    found = problems_beside(document, endpoints={"other": []}, columns=["question"], cases=1000)
    paths = ["models.0.endpoint", "models.1.endpoint", "prompts.0.user", "expected", ""]
    assert list(found) == paths
    assert "It has: question." in str(found)
    assert "4,000,000 trials" in found[""]


@table(
    ({}, (None, None, None)),
    ({"dollars": 5.0, "calls": 20000, "seconds": 3600}, (5.0, 20000, 3600.0)),
    ({"calls": "7", "seconds": None}, (None, 7, None)),
)
def test_a_budget_is_any_of_three(document, budget, meant):
    read = read_configuration({**document, "budget": budget}).budget
    assert (read.dollars, read.calls, read.seconds) == meant


@table(
    ({"async_batch_size": 30}, {"batch_size": 30}),
    ({"rate_limit_per_minute": 3500}, {"requests_per_minute": 3500}),
    ({"async_timeout": 12}, {"timeout_seconds": 12}),
    (
        {"max_concurrent_requests": 10, "max_concurrent_genomes": 5, "genome_batch_size": 10},
        {"max_concurrent": 50, "max_concurrent_candidates": 5, "candidate_batch_size": 10},
    ),
    ({"schedule": "sequential", "max_concurrent": 9}, {"max_concurrent": 1}),
)
def test_the_names_of_the_evaluation_guide_are_understood(document, given, meant):
    limits = read_configuration({**document, "limits": given}).limits
    assert {name: getattr(limits, name) for name in meant} == meant


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
def installed():
    PLUGINS.update({"shop.StrawHat": StrawHat, "shop.Hat": Hat, "shop.Band": Band, "shop.ten": 10})
    yield
    PLUGINS.clear()


@table(
    {"bowler": {"height_cm": 14}},
    {"name": "bowler", "height_cm": 14},
    {"name": "bowler", "options": {"height_cm": 14}},
    {"name": "bowler", "options": None, "height_cm": 14},
)
def test_options_stand_under_the_name_beside_it_or_apart(written):
    choice = HatChoice.model_validate(written)
    assert (choice.name, choice.options) == ("bowler", {"height_cm": 14})
    assert HATS.choose(choice.name, choice.options).options.height_cm == 14
    alone: list[Any] = ["bowler", {"bowler": None}, {"bowler": {}}]
    assert [HATS.read(one) for one in alone] == [("bowler", {})] * 3


@table(
    ("fez", "Unknown hat 'fez'. Choose one of: bowler."),
    ({"name": 3}, "Unknown hat 3. Choose one of: bowler."),
    ({1: {}}, "Unknown hat 1"),
    ({}, "A hat is a name"),
    (None, "A hat is a name"),
    ({"bowler": {}, "fez": {}}, "A hat is a name"),
    ({"bowler": {"brim": 2}}, "The hat bowler has no option 'brim'. It takes: height_cm."),
    ({"bowler": {"height_cm": 0}}, "bowler.height_cm: Input should be greater than or equal"),
    ({"bowler": 14}, "written as {bowler: {option: value}}, not as int"),
    ({"name": "bowler", "options": {"height_cm": 1}, "height_cm": 2}, "not both"),
    ([], "A hat is a name, as in bowler, or a name with its options, as in {bowler: {height"),
)
def test_what_is_wrong_is_said_with_what_is_allowed(written, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        HATS.read(written)


def test_an_entry_describes_itself_and_its_options():
    (bowler,) = HATS.describe()
    assert (bowler.label, bowler.summary, bowler.version) == ("Bowler", "Round and hard.", 1)
    (height,) = bowler.options
    assert (height.label, height.kind, height.default) == ("Height cm", "number", 12)


@pytest.mark.usefixtures("installed")
def test_plugins_of_the_right_class_join_and_their_schema_stands_by_itself():
    assert list(HATS) == ["bowler", "shop.StrawHat"]
    first, _ = HATS.describe()
    assert (first.name, first.label, first.is_recommended) == ("shop.StrawHat", "Boater", True)
    kinds = {option.name: option.kind for option in first.options}
    assert kinds == {"fabric": "choice", "fit": "choice", "band": "yaml"}
    assert first.options[0].choices == ("felt", "straw")
    schema = HatChoice.model_json_schema()
    assert schema["anyOf"][0] == {"enum": ["bowler", "shop.StrawHat"]}
    assert "$ref" not in str(schema)
    straw = schema["anyOf"][-1]
    assert straw["properties"]["name"] == {"enum": ["shop.StrawHat"]}
    assert straw["properties"]["fabric"]["enum"] == ["felt", "straw"]
    assert straw["properties"]["band"]["properties"]["colour"]["default"] == "black"
    # The options of a plugin are checked where it is chosen.
    with pytest.raises(WrongOptions, match=r"StrawHat\.fit: Input should be 'tight' or 'loose'"):
        HATS.choose("shop.StrawHat", {"fit": "odd"})
    assert HATS.problem_with("shop.StrawHat", {"fit": "tight"}) == ""


def test_a_plugin_that_is_gone_is_read_but_cannot_be_chosen():
    stored = HatChoice.model_validate({"shop.StrawHat": {"fit": "odd"}})
    assert stored.options == {"fit": "odd"}
    with pytest.raises(UnknownName, match=r"Choose one of: bowler\. Those of installed packages"):
        HATS.choose(stored.name, stored.options)
    assert "EVALSITE_PLUGINS" in HATS.problem_with(stored.name, stored.options)


SMALL, LARGE = "simulated/sim-small", "simulated/sim-large"


def small(**parameters):
    return {"endpoint": "simulated", "model": "sim-small", "parameters": parameters}


THREE = [SMALL, small(temperature=0.5), small(temperature=1.0)]


@table(
    row([small(temperature=1.0), LARGE], [SMALL, LARGE], id="parameters of one"),
    row(THREE, [SMALL, *(f'{SMALL} {{"temperature":{t}}}' for t in (0.5, 1.0))], id="three ways"),
)
def test_a_name_tells_the_parameters_where_the_model_alone_does_not(document, models, labels):
    candidates = read_configuration({**document, "models": models}).make_candidates()
    prompts = [prompt["name"] for prompt in document["prompts"]]
    names = [f"{prompt} · {label}" for prompt in prompts for label in labels]
    assert [candidate.name for candidate in candidates] == names
    assert len({candidate.key for candidate in candidates}) == len(candidates)
