"""The parts that configurations of every kind are made of."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from workers.engine.named import NamedChoice, Registry, UnknownName, WrongOptions
from workers.engine.scorers import SCORERS, AnyScorer, build_scorer
from workers.engine.spec.model_choice import ModelChoice, Strict
from workers.engine.spec.presets import MOST_CONCURRENT, fill_limits


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
Concurrency = Annotated[int, Field(ge=1, le=MOST_CONCURRENT), NotSwitch]
RequestRate = Annotated[int, Field(ge=1, le=1_000_000), NotSwitch]
TokenRate = Annotated[int, Field(ge=1, le=1_000_000_000), NotSwitch]
Amount = Annotated[float, Field(gt=0, le=1_000_000_000, allow_inf_nan=False), NotSwitch]
ShareOrCount = Annotated[float, Field(gt=0, le=2_000_000), NotSwitch]
Seed = Annotated[int, Field(ge=-(2**63), le=2**63 - 1), NotSwitch]
SYSTEM = "The system message, as a template. Empty: none is sent."
USER = "The user message, as a template."
PriorityName = Literal["low", "normal", "high"]
CacheMode = Annotated[
    Literal["use", "refresh", "off"],
    BeforeValidator(read_off, json_schema_input_type=Literal["use", "refresh", "off", False]),
]


def filled_by_preset(schema: dict[str, Any]) -> None:
    """Null is as good as nothing, and the defaults are the preset's."""
    for name, field in schema["properties"].items():
        field.pop("default", None)
        if "anyOf" not in field:
            told = {key: field.pop(key) for key in ("title", "description") if key in field}
            schema["properties"][name] = {"anyOf": [dict(field), {"type": "null"}], **told}


class Template(NamedTuple):
    """A text that is filled from a case, and where it stands."""

    path: str
    text: str
    known: tuple[str, ...]  # what it may name besides the columns of the dataset


class ScorerChoice(NamedChoice):
    """A scorer by name, or with its options, as in {numeric: {tolerance: 0.001}}."""

    registry: ClassVar[Registry[Any]] = SCORERS

    @property
    def scorer(self) -> AnyScorer | None:
        """Ready to judge. None of a plug-in that is not there, or takes other options than it did:
        that is told by `plugin_problems`."""
        try:
            return build_scorer(self.name, self.options)
        except (UnknownName, WrongOptions):
            return None

    @property
    def compares(self) -> bool:
        """Whether it needs an expected answer."""
        scorer = self.scorer
        return scorer is not None and scorer.compares

    @property
    def models(self) -> dict[str, ModelChoice]:
        """Those it asks, by the option that names them."""
        scorer = self.scorer
        return scorer.models if scorer is not None else {}


def check_scorers(scorers: list[ScorerChoice]) -> list[ScorerChoice]:
    """What is wrong among them, as far as their plug-ins are installed."""
    built = [choice.scorer for choice in scorers]
    if all(scorer is not None and not scorer.counts for scorer in built):
        raise ValueError("All scorers have the weight 0. At least one must count.")
    known = [scorer for scorer in built if scorer is not None]
    given = {scorer.called for scorer in known} - {""}
    refuse_twins(scorer.own_name for scorer in known if scorer.own_name in given)
    return scorers


class Limits(Strict):
    """How fast calls are made. A preset fills in what is not given."""

    model_config = ConfigDict(json_schema_extra=filled_by_preset)

    preset: Literal["endpoint", "conservative", "balanced", "aggressive"] | None = Field(
        None,
        description="Where the values come from that are not given here. endpoint, as if empty: as "
        "fast as the endpoints allow, without limits of the run's own.",
    )
    max_concurrent: Concurrency | None = Field(
        None, description="Calls in flight at once. null: as many as the endpoints allow."
    )
    batch_size: Annotated[int, Field(ge=1, le=10_000), NotSwitch] = Field(
        0, description="Cases of one candidate that are taken together, in the schedule two_level."
    )
    requests_per_minute: RequestRate | None = Field(
        None, description="Calls that start in a minute. null: no limit of the run's own."
    )
    tokens_per_minute: TokenRate | None = Field(
        None, description="Tokens of prompts and answers in a minute. null: no limit."
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=600), NotSwitch] = Field(
        0, description="How long one call may take."
    )
    attempts: Annotated[int, Field(ge=1, le=10), NotSwitch] = Field(
        0, description="How often a call is tried before its trial fails."
    )
    adaptive: Annotated[bool, Field(strict=True)] = Field(
        True, description="Find the provider's own limit from below and keep to it."
    )
    schedule: Literal["work_conserving", "two_level", "sequential"] = Field(
        "work_conserving",
        description="work_conserving keeps every slot busy; two_level gives each candidate its own "
        "slots; sequential makes one call at a time. two_level if a field below is given.",
    )
    max_concurrent_candidates: Concurrency | None = Field(
        None, description="Candidates at once, in the schedule two_level."
    )
    max_concurrent_per_candidate: Concurrency | None = Field(
        None,
        description="Calls of one candidate at once, in the schedule two_level. null: "
        "max_concurrent divided by max_concurrent_candidates, or batch_size.",
    )
    candidate_batch_size: Annotated[int, Field(ge=1, le=10_000), NotSwitch] | None = Field(
        None,
        description="Candidates that are worked off together, in the schedule two_level: the next "
        "ones begin when all of these are done.",
    )
    performance_summary: Annotated[bool, Field(strict=True)] = Field(
        False,
        description="Note calls, throughput, latencies, cache hits and use of the limit in the "
        "events when the run ends.",
    )

    @model_validator(mode="before")
    @classmethod
    def fill_from_preset(cls, value: Any) -> Any:
        return fill_limits(value) if isinstance(value, Mapping) else value


class Budget(Strict):
    """The most that a run may use; what is not given is not limited. A run that reaches one of them
    pauses, and goes on when it is raised."""

    dollars: Amount | None = Field(
        None, description="Money. The price of every model must be known under Endpoints."
    )
    calls: Annotated[int, Field(gt=0, le=1_000_000_000), NotSwitch] | None = Field(
        None, description="Calls to providers; answers from the cache are free."
    )
    seconds: Amount | None = Field(None, description="Time during which the run works.")


def refuse_twins(names: Iterable[str]) -> None:
    twins = [name for name, times in Counter(names).items() if times > 1]
    if twins:
        raise ValueError(f"Given twice: {', '.join(twins)}. Each must differ from the others.")


def check_models(models: list[ModelChoice]) -> list[ModelChoice]:
    refuse_twins(f"{model.label} {sorted(model.parameters.items())}" for model in models)
    return models
