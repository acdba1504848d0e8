"""The one schema of a configuration: YAML, forms, admin and REST are all read by it."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from math import prod
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.expected import expected_problems
from workers.engine.problems import explain
from workers.engine.spec_parts import (
    Amount,
    Budget,
    CacheMode,
    Concurrency,
    DatasetChoice,
    Limits,
    ModelChoice,
    Name,
    NotSwitch,
    PriorityName,
    Prompt,
    RequestRate,
    ScorerChoice,
    Seed,
    ShareOrCount,
    Strict,
    TokenRate,
    check_models,
    refuse_twins,
)
from workers.engine.spec_steps import (
    AgentStep,
    AnyStep,
    Step,
    Template,
    agent_problems,
    flow_problems,
    slots_of,
    templates_of,
)
from workers.engine.strategies import SELECTIONS, check_objective, read_options
from workers.engine.strategies.options import Objective
from workers.engine.template import names_in

__all__ = [
    "KINDS",
    "AgentStep",
    "Amount",
    "Budget",
    "Concurrency",
    "Configuration",
    "DatasetChoice",
    "Evaluation",
    "Limits",
    "ModelChoice",
    "NotSwitch",
    "PriorityName",
    "Prompt",
    "RequestRate",
    "Seed",
    "Selection",
    "ShareOrCount",
    "Step",
    "Strict",
    "TokenRate",
    "cases_of",
    "check_against",
    "count_trials",
    "read_configuration",
    "with_expected",
]

NAME = "The name of the run. A file without one takes the file's own name."
KIND = "evaluate compares prompts and models; select finds the best models for a pipeline."
CACHE = (
    "use reads and stores answers; refresh asks again and stores; off does neither. YAML reads off "
    "without quotes as false, which means the same."
)
NO_ENDPOINTS = "none yet; add one under Endpoints or with `manage.py save_endpoint`"
MAX_TRIALS = 2_000_000  # a run's quota; the product is computed before anything is built


class Configuration(Strict):
    """What configurations of every kind have in common."""

    name: Name = Field("unnamed", description=NAME)
    kind: str = Field(description=KIND)
    seed: Seed = Field(0, description="The same seed gives the same trials in the same order.")
    dataset: DatasetChoice = Field(description="The cases that every candidate is tried on.")
    expected: Annotated[str, Field(max_length=100)] | None = Field(
        None,
        description="The column that scorers compare with. Not given: the one that the dataset "
        'names. Empty (""): none.',
    )
    repeats: Annotated[int, Field(ge=1, le=1000), NotSwitch] = Field(
        1, description="How often each candidate answers each case."
    )
    scorers: Annotated[list[ScorerChoice], Field(min_length=1, max_length=10)] = Field(
        description="How an answer becomes a score. With several, the score is their mean."
    )
    limits: Limits = Field(
        default_factory=lambda: Limits.model_validate({}),
        description="How fast calls are made, how long they may take and how often they are tried.",
    )
    cache: CacheMode = Field("use", description=CACHE)
    priority: PriorityName = Field(
        "normal", description="How runs share a model: low 1, normal 3, high 9 parts of its slots."
    )
    budget: Budget = Field(Budget(), description="The most that a run may use before it pauses.")
    fail_on_error: Annotated[float, Field(gt=0, le=2_000_000), NotSwitch] | None = Field(
        None,
        description="The run pauses when more trials fail: up to 1 a share of the trials, above 1 "
        "a whole number of them.",
    )

    @field_validator("fail_on_error")
    @classmethod
    def check_share_or_count(cls, most: float | None) -> float | None:
        if most is not None and most > 1 and most != int(most):
            raise ValueError("Give a share of the trials, as in 0.1, or a whole number of them.")
        return most

    @property
    def expected_column(self) -> str:
        """Runs from before it could be chosen name none in their documents: it was `expected`."""
        return "expected" if self.expected is None else self.expected

    @property
    @abstractmethod
    def called(self) -> list[ModelChoice]:
        """Every model it may call."""

    @property
    @abstractmethod
    def candidates(self) -> int:
        """How many there are to be tried."""

    @abstractmethod
    def templates(self) -> Iterator[Template]:
        """Every text that is filled from a case."""

    def problems(self) -> list[Problem]:
        """What is wrong between its parts, each of which is right by itself."""
        return []

    def plugin_problems(self) -> list[Problem]:
        """What it names and is not installed here. Not asked of what is stored: a run that was
        made with a plugin can be looked at without it."""
        return []

    def model_path(self, index: int) -> str:
        """Where a person finds the model of this number in the document."""
        return f"models.{index}"


class Evaluation(Configuration):
    """Kind `evaluate`: every prompt with every model on every case."""

    kind: Literal["evaluate"] = Field(description=KIND)
    prompts: Annotated[list[Prompt], Field(min_length=1, max_length=500)] = Field(
        description="The prompts to compare. Each is tried with each model."
    )
    models: Annotated[list[ModelChoice], Field(min_length=1, max_length=100)] = Field(
        description="The models to compare."
    )

    @field_validator("prompts")
    @classmethod
    def check_prompt_names(cls, prompts: list[Prompt]) -> list[Prompt]:
        refuse_twins(prompt.name for prompt in prompts)
        return prompts

    @field_validator("models")
    @classmethod
    def check_model_names(cls, models: list[ModelChoice]) -> list[ModelChoice]:
        return check_models(models)

    @property
    def called(self) -> list[ModelChoice]:
        return self.models

    @property
    def candidates(self) -> int:
        return len(self.prompts) * len(self.models)

    def templates(self) -> Iterator[Template]:
        for index, prompt in enumerate(self.prompts):
            yield Template(f"prompts.{index}.system", prompt.system, ())
            yield Template(f"prompts.{index}.user", prompt.user, ())


def as_written(schema: dict[str, Any]) -> None:
    """A name alone, or with the options that this strategy takes, beside it or as `options`."""
    schema.clear()
    schema["anyOf"] = [{"enum": list(SELECTIONS)}]
    for name, strategy in SELECTIONS.items():
        options = strategy.options_type.model_json_schema()["properties"]
        nested = {"type": "object", "properties": options, "additionalProperties": False}
        schema["anyOf"].append(
            {
                "type": "object",
                "properties": {"name": {"enum": [name]}, "options": nested, **options},
                "required": ["name"],
                "additionalProperties": False,
            }
        )


class StrategyChoice(Strict):
    """A strategy by name with its options beside it, as in {name: threshold, threshold: 0.8}."""

    model_config = ConfigDict(json_schema_extra=as_written)

    name: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"name": value}
        if not isinstance(value, Mapping):
            return value
        name = value.get("name")
        beside = {key: item for key, item in value.items() if key not in ("name", "options")}
        nested = value.get("options", {})
        if not isinstance(name, str) or not isinstance(nested, Mapping):
            raise ValueError("A strategy is {name: ..., and its options beside it}.")
        if nested and beside:
            raise ValueError(
                "Options stand beside the name of a strategy, or as `options`, not both."
            )
        options = {**nested, **beside}
        read_options(name, options)
        return {"name": name, "options": options}


class Selection(Configuration):
    """Kind `select`: the best combination of models for the steps of a pipeline."""

    kind: Literal["select"] = Field(description=KIND)
    steps: Annotated[list[AnyStep], Field(min_length=1, max_length=20)] = Field(
        description="The steps of the pipeline in their order; the last answer is scored."
    )
    strategy: StrategyChoice = Field(
        StrategyChoice(name="arm_elimination"),
        description="How combinations are tried and given up, by name or with its options.",
    )
    objective: Objective = Field(Objective(), description="What makes a combination the best.")

    @model_validator(mode="after")
    def check_front(self) -> "Selection":
        check_objective(self.strategy.name, self.objective)
        return self

    @property
    def called(self) -> list[ModelChoice]:
        """Each once, whatever its parameters."""
        models = chain(*(slot.call.models for slot in slots_of(self.steps)))
        return list({(model.endpoint, model.model): model for model in models}.values())

    @property
    def candidates(self) -> int:
        return prod(len(slot.call.models) for slot in slots_of(self.steps))

    def templates(self) -> Iterator[Template]:
        return templates_of(self.steps)

    def problems(self) -> list[Problem]:
        return flow_problems(self.steps)

    def plugin_problems(self) -> list[Problem]:
        return agent_problems(self.steps)

    def model_path(self, index: int) -> str:
        wanted = self.called[index].label
        return next(
            f"{slot.path}.models.{number}"
            for slot in slots_of(self.steps)
            for number, model in enumerate(slot.call.models)
            if model.label == wanted
        )


KINDS: dict[str, type[Configuration]] = {"evaluate": Evaluation, "select": Selection}


def read_configuration(document: Any) -> Configuration:
    """The configuration a document describes, or every problem it has."""
    if not isinstance(document, Mapping):
        raise ConfigurationError(
            [Problem("", "A configuration is a mapping of fields such as kind, dataset, prompts.")]
        )
    kind = document.get("kind", "evaluate")
    if not isinstance(kind, str) or kind not in KINDS:
        told = f"Unknown kind {kind!r}. Choose one of: {', '.join(map(repr, KINDS))}."
        raise ConfigurationError([Problem("kind", told)])
    try:
        configuration = KINDS[kind].model_validate(document)
    except ValidationError as error:
        raise ConfigurationError(explain(error, KINDS[kind])) from None
    if problems := configuration.problems():
        raise ConfigurationError(problems)
    return configuration


def check_against(
    configuration: Configuration,
    *,
    endpoints: Mapping[str, Collection[str]],
    columns: Sequence[str],
    cases: int,
) -> None:
    """Refuse what only the stored parts can tell: endpoints, with the models whose price is known;
    dataset columns, among them the expected answer; size."""
    problems = [
        Problem(
            f"{configuration.model_path(index)}.endpoint",
            f"There is no endpoint {model.endpoint!r}. "
            f"Choose one of: {', '.join(endpoints) or NO_ENDPOINTS}.",
        )
        for index, model in enumerate(configuration.called)
        if model.endpoint not in endpoints
    ]
    problems += configuration.plugin_problems()
    problems += template_problems(configuration, columns)
    problems += expected_problems(
        configuration.expected_column,
        [scorer.name for scorer in configuration.scorers],
        columns,
        {name for template in configuration.templates() for name in names_in(template.text)},
    )
    problems += budget_problems(configuration, endpoints)
    trials = count_trials(configuration, cases)
    if trials > MAX_TRIALS:
        problems.append(
            Problem("", f"{trials:,} trials are more than the {MAX_TRIALS:,} a run may have.")
        )
    if problems:
        raise ConfigurationError(problems)


def budget_problems(
    configuration: Configuration, priced: Mapping[str, Collection[str]]
) -> list[Problem]:
    """Dollars can only be kept to where every price is known, by endpoint and model."""
    if configuration.budget.dollars is None:
        return []
    unpriced = {
        model.label: model.endpoint
        for model in configuration.called
        if model.model not in priced.get(model.endpoint, ())
    }
    if not unpriced:
        return []
    places = ", ".join(sorted(set(unpriced.values())))
    told = (
        f"A budget in dollars needs the price of every model; unknown: {', '.join(unpriced)}. "
        f"Enter it under Endpoints ({places}), or set a budget of calls instead."
    )
    return [Problem("budget.dollars", told)]


def template_problems(configuration: Configuration, columns: Sequence[str]) -> list[Problem]:
    return [
        Problem(template.path, unknown_name(name, columns, template.known))
        for template in configuration.templates()
        for name in names_in(template.text)
        if name not in columns and name not in template.known
    ]


def unknown_name(name: str, columns: Sequence[str], steps: Sequence[str]) -> str:
    told = f"{{{{{name}}}}} is not a column of the dataset. It has: {', '.join(columns)}."
    return f"{told} Earlier steps: {', '.join(steps)}." if steps else told


def with_expected(configuration: Configuration, column: str) -> Configuration:
    """With the column that its dataset names, unless it names one itself."""
    if configuration.expected is not None:
        return configuration
    return configuration.model_copy(update={"expected": column})


def cases_of(configuration: Configuration, rows: int) -> int:
    """How many cases a dataset with so many rows gives: its first ones, or all."""
    first = configuration.dataset.first
    return rows if first is None else min(first, rows)


def count_trials(configuration: Configuration, cases: int) -> int:
    """At most: who chooses among candidates need not run them all."""
    return configuration.candidates * cases * configuration.repeats
