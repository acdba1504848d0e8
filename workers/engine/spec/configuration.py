"""The one schema of a configuration: YAML, forms, admin and REST are all read by it."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, field_validator

from workers.engine.chunks import Work
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.records import Candidate
from workers.engine.scorers import problem_with_scorer
from workers.engine.spec.answers import Answers
from workers.engine.spec.dataset_choice import DatasetChoice
from workers.engine.spec.expected import expected_problems
from workers.engine.spec.model_choice import ModelChoice, Name, Strict
from workers.engine.spec.parts import (
    Amount,
    Budget,
    CacheMode,
    Concurrency,
    Limits,
    NotSwitch,
    PriorityName,
    Prompt,
    RequestRate,
    ScorerChoice,
    Seed,
    ShareOrCount,
    Template,
    TokenRate,
    check_models,
    refuse_twins,
)
from workers.engine.spec.template import names_in
from workers.engine.strategies import Strategy
from workers.engine.targets import Target

__all__ = [
    "Amount",
    "Budget",
    "Concurrency",
    "Configuration",
    "DatasetChoice",
    "Limits",
    "ModelChoice",
    "NotSwitch",
    "PriorityName",
    "Prompt",
    "RequestRate",
    "Seed",
    "ShareOrCount",
    "Strict",
    "Template",
    "TokenRate",
    "TrialRange",
    "check_against",
    "check_models",
    "count_trials",
    "refuse_twins",
    "with_expected",
]

NAME = "The name of the run. A file without one takes the file's own name."
KIND = "evaluate compares prompts and models; select finds the best models for a pipeline."
CACHE = (
    "use reads and stores answers; refresh asks again and stores; off does neither. YAML reads off "
    "without quotes as false, which means the same."
)
NO_ENDPOINTS = "none yet; add one under Endpoints or with `manage.py save_endpoint`"
CASES = "The cases that every candidate is tried on."
MAX_TRIALS = 2_000_000  # a run's quota; the product is computed before anything is built


class TrialRange(NamedTuple):
    """How many trials a run may have."""

    least: int
    most: int


class Configuration(Strict):
    """What a kind of run is: its part of the schema, its candidates, strategy and target. Here is
    what all kinds have in common; everything else asks these methods and compares no kind."""

    learns: ClassVar[bool]
    """Whether its strategy decides on the next trials by what became of the last."""
    bears: ClassVar[bool] = False
    """Whether its strategy brings new candidates while it runs."""
    keeps_records: ClassVar[bool] = False
    """Whether its target gives records: then exports offer them."""
    target: ClassVar[type[Target]]
    """What turns a candidate and a case into an answer."""

    name: Name = Field("unnamed", description=NAME)
    kind: str = Field(description=KIND)
    seed: Seed = Field(0, description="The same seed gives the same trials in the same order.")
    dataset: DatasetChoice | None = Field(None, description=CASES)
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
    answers: Answers = Field(
        Answers(), description="Whether answers that are no whole texts are scored."
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
        """The models that its candidates may call."""

    @property
    def judges(self) -> list[tuple[str, ModelChoice]]:
        """The models that its scorers ask, each with its path in the document."""
        return [
            (f"scorers.{index}.{option}", model)
            for index, scorer in enumerate(self.scorers)
            for option, model in scorer.models.items()
        ]

    @property
    def every_model(self) -> list[ModelChoice]:
        """All that it calls, by candidates or scorers: each once, whatever its parameters."""
        models = [*self.called, *(model for _, model in self.judges)]
        return list({(model.endpoint, model.model): model for model in models}.values())

    @property
    @abstractmethod
    def candidates(self) -> int:
        """How many there are to be tried."""

    @abstractmethod
    def templates(self) -> Iterator[Template]:
        """Every text that is filled from a case."""

    @abstractmethod
    def make_candidates(self) -> list[Candidate]:
        """Those known at the launch."""

    def make_cases(self) -> list[dict[str, str]] | None:
        """The fields of its cases, of a kind that makes them itself. None: `dataset` says which,
        and the kind declares it as needed."""
        return None

    @abstractmethod
    def open_strategy(self, cases: int) -> Strategy:
        """At its beginning."""

    def bound_trials(self, cases: int) -> TrialRange:
        """How many there may be."""
        trials = count_trials(self, cases)
        return TrialRange(trials, trials)

    def count_told(self, cases: int) -> int:
        """At most so many trials of other roles, beside those that evaluate."""
        return 0

    def first_round(self, cases: int) -> Work | None:
        """The work that can be done at once at the beginning, of kinds that decide in rounds."""
        return None

    def calls_per_trial(self) -> int:
        """At most: that a router skips some is not known before."""
        return 1

    @staticmethod
    def models_called(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The models that a candidate calls, by its document."""
        return [document["model"]]

    @staticmethod
    def texts_of(document: Mapping[str, Any]) -> list[str]:
        """The texts of a candidate that are filled from a case, by its document."""
        prompt = document.get("prompt", {})
        return [prompt[name] for name in ("system", "user") if name in prompt]

    def problems(self) -> list[Problem]:
        """What is wrong between its parts, each of which is right by itself."""
        return []

    def plugin_problems(self) -> list[Problem]:
        """What it names and is not installed here, or may no longer be used. Not asked of what is
        stored: a run that was made with a plugin can be looked at without it."""
        found = [problem_with_scorer(each.name, each.options) for each in self.scorers]
        return [Problem(f"scorers.{index}", told) for index, told in enumerate(found) if told]

    def model_path(self, index: int) -> str:
        """Where a person finds the model of this number in the document."""
        return f"models.{index}"


def check_against(
    configuration: Configuration,
    *,
    endpoints: Mapping[str, Collection[str]],
    columns: Sequence[str],
    cases: int,
) -> None:
    """Refuse what only the stored parts can tell: endpoints, with the models whose price is known;
    dataset columns, among them the expected answer; size."""
    named = [
        (f"{configuration.model_path(index)}.endpoint", model)
        for index, model in enumerate(configuration.called)
    ]
    problems = [
        Problem(
            path,
            f"There is no endpoint {model.endpoint!r}. "
            f"Choose one of: {', '.join(endpoints) or NO_ENDPOINTS}.",
        )
        for path, model in [*named, *configuration.judges]
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
    trials = count_trials(configuration, cases) + configuration.count_told(cases)
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
        for model in configuration.every_model
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


def count_trials(configuration: Configuration, cases: int) -> int:
    """Of those that evaluate, at most: who chooses among candidates need not run them all."""
    return configuration.candidates * cases * configuration.repeats
