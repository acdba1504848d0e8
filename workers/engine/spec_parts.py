"""The parts that configurations of every kind are made of."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from workers.engine.parameters import check_parameters
from workers.engine.presets import DEFAULT_PRESET, PRESETS, rename_limits
from workers.engine.scorers import SCORERS, build_scorer, parse_scorer


def refuse_switch(value: Any) -> Any:
    """True is 1 to Python; to a person it is a mistake."""
    if isinstance(value, bool):
        raise ValueError("Give a number, not true or false.")
    return value


def read_off(value: Any) -> Any:
    """YAML reads `off` without quotes as false, and `on` as true."""
    if value is False:
        return "off"
    if value is True:
        raise ValueError("on (or true) is not a mode of the cache. Choose use, refresh or off.")
    return value


NotSwitch = BeforeValidator(refuse_switch)
Name = Annotated[str, Field(min_length=1, max_length=100)]
Concurrency = Annotated[int, Field(ge=1, le=5000), NotSwitch]
RequestRate = Annotated[int, Field(ge=1, le=1_000_000), NotSwitch]
TokenRate = Annotated[int, Field(ge=1, le=1_000_000_000), NotSwitch]
Amount = Annotated[float, Field(gt=0, le=1_000_000_000, allow_inf_nan=False), NotSwitch]
ShareOrCount = Annotated[float, Field(gt=0, le=2_000_000), NotSwitch]
Seed = Annotated[int, Field(ge=-(2**63), le=2**63 - 1), NotSwitch]
PriorityName = Literal["low", "normal", "high"]
LONGEST_DATASET = 140  # characters: those of a name, and @ with a version
CacheMode = Annotated[
    Literal["use", "refresh", "off"],
    BeforeValidator(read_off, json_schema_input_type=Literal["use", "refresh", "off", False]),
]


class Strict(BaseModel):
    """Unknown fields are refused, values are not changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def also_written(*short_forms: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Tells the JSON schema of a model about the short forms that its validator reads."""

    def extend(schema: dict[str, Any]) -> None:
        full = dict(schema)
        schema.clear()
        schema["anyOf"] = [*short_forms, full]

    return extend


def filled_by_preset(schema: dict[str, Any]) -> None:
    """Null is as good as nothing, and the defaults are the preset's."""
    for name, field in schema["properties"].items():
        field.pop("default", None)
        if "anyOf" not in field:
            title = {"title": field.pop("title")}
            schema["properties"][name] = {"anyOf": [dict(field), {"type": "null"}], **title}


class Prompt(Strict):
    name: Name
    system: Annotated[str, Field(max_length=100_000)] = ""
    user: Annotated[str, Field(min_length=1, max_length=100_000)] = "{{question}}"


class ModelChoice(Strict):
    """A model of an endpoint, written `endpoint/model` or in full."""

    model_config = ConfigDict(
        json_schema_extra=also_written({"type": "string", "pattern": "^[^/]{1,100}/.{1,200}$"})
    )

    endpoint: Name
    model: Annotated[str, Field(min_length=1, max_length=200)]
    parameters: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        endpoint, slash, model = value.partition("/")
        if not slash:
            raise ValueError(f"{value!r} has no endpoint. Write endpoint/model.")
        return {"endpoint": endpoint, "model": model}

    @field_validator("parameters")
    @classmethod
    def check_known_parameters(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        check_parameters(parameters)
        return parameters

    @property
    def label(self) -> str:
        return f"{self.endpoint}/{self.model}"


class DatasetChoice(Strict):
    """A stored dataset by name (its newest version, or `name@3`), or rows given in place; all of
    them, or the first."""

    model_config = ConfigDict(
        json_schema_extra=also_written(
            {"type": "string", "minLength": 1, "maxLength": LONGEST_DATASET}
        )
    )

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_DATASET)] | None = None
    rows: Annotated[list[dict[str, str]], Field(min_length=1, max_length=100_000)] | None = None
    first: Annotated[int, Field(ge=1, le=1_000_000_000), NotSwitch] | None = None

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def check_one_of_both(self) -> Self:
        if (self.name is None) == (self.rows is None):
            raise ValueError("Name a stored dataset or give rows: one of the two.")
        return self


class ScorerChoice(Strict):
    """A scorer and its options, written `exact` or `{numeric: {tolerance: 0.001}}`."""

    model_config = ConfigDict(
        json_schema_extra=also_written(
            {"enum": list(SCORERS)},
            {
                "type": "object",
                "properties": {name: {"type": ["object", "null"]} for name in SCORERS},
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": False,
            },
        )
    )

    name: Annotated[str, Field(json_schema_extra={"enum": list(SCORERS)})]
    options: Annotated[dict[str, Any], Field(json_schema_extra={"type": ["object", "null"]})] = {}

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and isinstance(value.get("name"), str):
            if unknown := value.keys() - cls.model_fields.keys():
                raise ValueError(f"Unknown field {min(unknown)!r}. Allowed here: name, options.")
            value = {value["name"]: value.get("options")}
        name, options = parse_scorer(value)
        build_scorer(name, options)
        return {"name": name, "options": options}


class Limits(Strict):
    """How fast. A preset fills what is not given."""

    model_config = ConfigDict(json_schema_extra=filled_by_preset)

    preset: Literal["conservative", "balanced", "aggressive"] | None = None
    max_concurrent: Concurrency = 0
    batch_size: Annotated[int, Field(ge=1, le=10_000), NotSwitch] = 0
    requests_per_minute: RequestRate | None = None
    tokens_per_minute: TokenRate | None = None
    timeout_seconds: Annotated[float, Field(gt=0, le=600), NotSwitch] = 0
    attempts: Annotated[int, Field(ge=1, le=10), NotSwitch] = 0
    adaptive: Annotated[bool, Field(strict=True)] = True
    schedule: Literal["work_conserving", "two_level", "sequential"] = "work_conserving"
    max_concurrent_candidates: Annotated[int, Field(ge=1, le=5000), NotSwitch] | None = None
    candidate_batch_size: Annotated[int, Field(ge=1, le=10_000), NotSwitch] | None = None

    @model_validator(mode="before")
    @classmethod
    def fill_from_preset(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        preset = value.get("preset") or DEFAULT_PRESET
        given = {
            name: item
            for name, item in rename_limits(value).items()
            if item is not None or name == "requests_per_minute"  # null there: no limit
        }
        if given.get("schedule") == "sequential":
            given["max_concurrent"] = 1
        return {**PRESETS.get(str(preset), PRESETS[DEFAULT_PRESET]), **given}


class Budget(Strict):
    """How much in all. What is not given is not limited; at the end of one the run pauses."""

    dollars: Amount | None = None
    calls: Annotated[int, Field(gt=0, le=1_000_000_000), NotSwitch] | None = None
    seconds: Amount | None = None


def refuse_twins(names: Iterable[str]) -> None:
    twins = [name for name, times in Counter(names).items() if times > 1]
    if twins:
        raise ValueError(f"Given twice: {', '.join(twins)}. Each must differ from the others.")


def check_models(models: list[ModelChoice]) -> list[ModelChoice]:
    refuse_twins(f"{model.label} {sorted(model.parameters.items())}" for model in models)
    return models
