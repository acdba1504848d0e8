"""The one schema of a configuration: YAML, forms, admin and REST are all read by it."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator

from workers.engine.chunks import Work
from workers.engine.errors import Problem
from workers.engine.messages.filling import texts_of
from workers.engine.named import Registry
from workers.engine.records import Candidate
from workers.engine.scorers import problem_with_scorer
from workers.engine.spec.answers import Answers
from workers.engine.spec.dataset_choice import DatasetChoice
from workers.engine.spec.model_choice import ModelChoice, Name, Strict
from workers.engine.spec.parts import (
    Amount,
    Budget,
    CacheMode,
    Concurrency,
    Limits,
    NotSwitch,
    PriorityName,
    RequestRate,
    ScorerChoice,
    Seed,
    ShareOrCount,
    Template,
    TokenRate,
    check_models,
    check_scorers,
    refuse_twins,
)
from workers.engine.spec.prompts import Prompt, PromptParts
from workers.engine.strategies import Strategy
from workers.engine.strategies.confirmed import Confirmed, split_cases
from workers.engine.targets import Target

__all__ = [
    "Amount",
    "Budget",
    "Concurrency",
    "Configuration",
    "DatasetChoice",
    "Limits",
    "ModelChoice",
    "ModelTrials",
    "NotSwitch",
    "OwnRegistry",
    "PriorityName",
    "Prompt",
    "RequestRate",
    "Seed",
    "ShareOrCount",
    "Strict",
    "Template",
    "TokenRate",
    "TrialRange",
    "check_models",
    "count_trials",
    "refuse_twins",
    "with_expected",
]

NAME = "The name of the run. A file without one takes the file's own name."
KIND = (
    "evaluate compares prompts and models; select finds the best models for a pipeline; evolve "
    "breeds better prompts; rollout lets policies play missions; mutate learns which rewriting of "
    "a query changes the answer."
)
CACHE = (
    "use reads and stores answers; refresh asks again and stores; off does neither. YAML reads off "
    "without quotes as false, which means the same."
)
COMBINE = (
    "How several scorers become one score. mean: the mean of their values by their weights; all: 1 "
    "if every one of them passes, else 0. What is not scored is left out."
)
CASES = "The cases that every candidate is tried on."
HELD_OUT = (
    "Cases that nobody is ranked by, drawn by the seed: below 1 a share of them, from 1 on a whole "
    "number. When all else is done, the best is scored on them: who is best of many was also lucky."
)
MOST_DRY_CALLS = 30  # of one trial: more is no look before a launch


class TrialRange(NamedTuple):
    """How many trials a run may have."""

    least: int
    most: int


class ModelTrials(NamedTuple):
    """Trials that ask one model."""

    model: ModelChoice
    trials: int


class OwnRegistry(NamedTuple):
    """Named things that only one kind knows, as the reference describes them."""

    title: str  # as in operators
    registry: Registry[Any]
    about: str


class Configuration(Strict):
    """What a kind of run is: its part of the schema, its candidates, strategy and target. Here is
    what all kinds have in common; everything else asks these methods and compares no kind."""

    learns: ClassVar[bool]
    """Whether its strategy decides on the next trials by what became of the last."""
    bears: ClassVar[bool] = False
    """Whether its strategy brings new candidates while it runs."""
    keeps_records: ClassVar[bool] = False
    """Whether its target gives records: then exports offer them."""
    own_registries: ClassVar[Sequence[OwnRegistry]] = ()
    """Their plug-ins are checked, and the reference describes them."""
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
        description="How an answer becomes a score."
    )
    combine: Literal["mean", "all"] = Field("mean", description=COMBINE)
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

    held_out: Annotated[float, Field(gt=0, le=2_000_000), NotSwitch] | None = Field(
        None, description=HELD_OUT
    )

    @field_validator("fail_on_error")
    @classmethod
    def check_share_or_count(cls, most: float | None) -> float | None:
        if most is not None and most > 1 and most != int(most):
            raise ValueError("Give a share of the trials, as in 0.1, or a whole number of them.")
        return most

    @field_validator("held_out")
    @classmethod
    def check_held_out(cls, held_out: float | None) -> float | None:
        if held_out is not None and held_out >= 1 and held_out != int(held_out):
            raise ValueError("Give a share of the cases, as in 0.2, or a whole number of them.")
        return held_out

    @field_validator("scorers")
    @classmethod
    def check_scorers(cls, scorers: list[ScorerChoice]) -> list[ScorerChoice]:
        return check_scorers(scorers)

    @property
    def expected_column(self) -> str:
        """Runs from before it could be chosen name none in their documents: it was `expected`."""
        return "expected" if self.expected is None else self.expected

    @property
    def decides(self) -> bool:
        """Whether what is asked depends on scores: on those of all candidates, who is best."""
        return self.learns or self.held_out is not None

    @property
    def grows(self) -> bool:
        """Whether candidates come while it runs: new ones, or the best to be confirmed."""
        return self.bears or self.held_out is not None

    def count_held_out(self, cases: int) -> int:
        """Of so many."""
        if self.held_out is None:
            return 0
        is_share = self.held_out < 1
        return max(1, round(self.held_out * cases)) if is_share else int(self.held_out)

    def count_ranked(self, cases: int) -> int:
        """The cases that candidates are tried on. All that counts trials asks for this number."""
        return cases - self.count_held_out(cases)

    def count_confirming(self, cases: int) -> int:
        """Trials of the best on held-out cases."""
        return self.count_held_out(cases) * self.repeats

    def begin(self, cases: int) -> Strategy:
        """What a run asks for, from its first trial to the last."""
        if self.held_out is None:
            return self.open_strategy(cases)
        split = split_cases(cases, self.count_held_out(cases), self.seed)
        return Confirmed(self.open_strategy(len(split.ranked)), split, self.repeats)

    @property
    @abstractmethod
    def called(self) -> list[ModelChoice]:
        """The models that its candidates may call."""

    @property
    def answering(self) -> list[ModelChoice]:
        """Those of them that answer cases. The others make candidates."""
        return self.called

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

    @property
    def candidates_at_launch(self) -> int:
        """How many `make_candidates` makes, without making them."""
        return self.candidates

    def written_prompts(self) -> Iterator[tuple[str, PromptParts]]:
        """Every prompt that it holds, with its path in the document."""
        return iter(())

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
        """At its beginning, on the cases that candidates are ranked by."""

    def most_trials(self, cases: int) -> int:
        """Of those that evaluate, on so many cases."""
        return self.candidates * cases * self.repeats

    def bound_trials(self, cases: int) -> TrialRange:
        """How many there may be."""
        trials = count_trials(self, cases)
        return TrialRange(trials, trials)

    def told(self, cases: int) -> list[ModelTrials]:
        """The trials of other roles, beside those that evaluate, by the model that they ask."""
        return []

    def count_told(self, cases: int) -> int:
        """At most so many trials of other roles."""
        return sum(each.trials for each in self.told(cases))

    def first_round(self, cases: int) -> Work | None:
        """The work that can be done at once at the beginning, of kinds that decide in rounds."""
        return None

    def calls_per_trial(self) -> int:
        """At most: that a router skips some is not known before."""
        return 1

    def calls_in_a_row(self) -> int:
        """That a trial waits for, one after the other."""
        return self.calls_per_trial() + bool(self.judges)

    def sizes_of_rounds(self, cases: int) -> list[int]:
        """Trials of the rounds that wait for each other, as many as there may be."""
        return [self.bound_trials(cases).most]

    def why_no_dry_run(self) -> str:
        """Why its first trials are not tried before a launch; empty: they can be."""
        calls = self.calls_per_trial()
        if not calls:
            return "This run calls no model: it costs nothing to launch it."
        if calls > MOST_DRY_CALLS:
            return (
                f"One trial of this run makes up to {calls:,} calls, and a dry run at most "
                f"{MOST_DRY_CALLS}. Launch it with a budget of a few calls instead."
            )
        return ""

    def answers_per_trial(self) -> int:
        """That are judged."""
        return 1

    @staticmethod
    def models_called(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The models that a candidate calls, by its document."""
        return [document["model"]]

    @staticmethod
    def texts_of(document: Mapping[str, Any]) -> list[str]:
        """The texts of a candidate that are filled from a case, by its document."""
        return texts_of(document.get("prompt", {}))

    def narrow(
        self, document: Mapping[str, Any], candidates: Collection[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Its own document with as few other candidates than these, given by their documents, as
        its kind can say: of one that searches among all of them, none is left out."""
        return dict(document)

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


def with_expected(configuration: Configuration, column: str) -> Configuration:
    """With the column that its dataset names, unless it names one itself."""
    if configuration.expected is not None:
        return configuration
    return configuration.model_copy(update={"expected": column})


def count_trials(configuration: Configuration, cases: int) -> int:
    """Of those that evaluate, at most: who chooses among candidates need not run them all."""
    return configuration.most_trials(cases)
