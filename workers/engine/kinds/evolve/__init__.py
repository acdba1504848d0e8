"""Kind `evolve`: prompts that are bred for many generations."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from workers.engine.errors import Problem
from workers.engine.kinds.evolve.genetic import Genetic
from workers.engine.kinds.evolve.hybrid import Hybrid
from workers.engine.kinds.evolve.life import Life
from workers.engine.kinds.evolve.operators import (
    OPERATORS,
    OperatorChoice,
    TextOperator,
    Toolbox,
    WritingOperator,
)
from workers.engine.kinds.evolve.options import REFLECTIVE, EvolutionOptions
from workers.engine.kinds.evolve.seed_names import sort_names
from workers.engine.named import NamedChoice, Registry
from workers.engine.named.choice import numbered, problems_with
from workers.engine.named.registry import subclass_of
from workers.engine.records import Candidate
from workers.engine.spec.configuration import (
    CASES,
    KIND,
    Configuration,
    DatasetChoice,
    ModelChoice,
    ModelTrials,
    OwnRegistry,
    Prompt,
    Template,
    TrialRange,
    refuse_twins,
)
from workers.engine.spec.prompts import PromptParts
from workers.engine.strategies import Strategy
from workers.engine.strategies.confirmed import Confirmed
from workers.engine.targets import ChatTarget, Target

EVOLUTIONS: Registry[Life[Any]] = Registry(
    "evolution",
    {"genetic": Genetic, "hybrid": Hybrid},
    adopt=subclass_of(Life),
    example="{name: genetic, population_size: 20}",
    recommended="genetic",
)


class EvolutionChoice(NamedChoice):
    """How prompts evolve, by name or with options, as in {name: genetic, population_size: 20}."""

    registry: ClassVar[Registry[Any]] = EVOLUTIONS


def life_in(begun: Strategy) -> Life[Any]:
    """The strategy that evolves, also where its best is confirmed after it."""
    strategy = begun.inner if isinstance(begun, Confirmed) else begun
    assert isinstance(strategy, Life)  # every strategy of an evolution is one
    return strategy


class Evolution(Configuration):
    """Kind `evolve`: prompts that are bred for many generations."""

    learns: ClassVar[bool] = True
    bears: ClassVar[bool] = True
    target: ClassVar[type[Target]] = ChatTarget
    own_registries: ClassVar[Sequence[OwnRegistry]] = (
        OwnRegistry(
            "evolutions",
            EVOLUTIONS,
            "How a run of kind evolve goes on: its `strategy`, by name or with options.",
        ),
        OwnRegistry(
            "operators",
            OPERATORS,
            "What makes children in a run of kind evolve. Written as scorers are: by name, or with "
            "options, as in {reflect: {model: simulated/sim-large}}.",
        ),
    )

    kind: Literal["evolve"] = Field(description=KIND)
    dataset: DatasetChoice = Field(description=CASES)
    prompts: Annotated[list[Prompt], Field(min_length=1, max_length=500)] = Field(
        description="The prompts that it begins with. Their system messages evolve; the user "
        "message of the first is sent with all."
    )
    models: Annotated[list[ModelChoice], Field(min_length=1)] = Field(
        description="The model that the prompts are for. One: a prompt is bred for its model."
    )
    operators: Annotated[list[OperatorChoice], Field(max_length=20)] = Field(
        default_factory=list,
        description="What makes children, by name or with options. words and sections change "
        "prompts by chance, the others ask a model. Empty: words; sections in the strategy "
        "hybrid; reflect with the preset reflective.",
    )
    strategy: EvolutionChoice = Field(
        EvolutionChoice(name="genetic"),
        description="Population, generations, rates, and when it ends.",
    )

    @model_validator(mode="before")
    @classmethod
    def read_strategy(cls, value: Any) -> Any:
        """Operators that are not given are stored with the run, so that it stays what it is when a
        default changes."""
        if not isinstance(value, dict):
            return value
        chosen, limits = sort_names(
            EVOLUTIONS.parse(value.get("strategy") or "genetic"), value.get("limits")
        )
        is_reflective = chosen.options.get("preset") == "reflective"
        usual = EVOLUTIONS.get(chosen.name, Genetic).options_model().operators
        operators = value.get("operators") or (REFLECTIVE if is_reflective else usual)
        read = {**value, "strategy": chosen._asdict(), "operators": operators}
        return read if limits is None else {**read, "limits": limits}

    @field_validator("prompts")
    @classmethod
    def check_prompts(cls, prompts: list[Prompt]) -> list[Prompt]:
        refuse_twins(prompt.name for prompt in prompts)
        named: dict[str, str] = {}
        for prompt in prompts:
            twin = (
                prompt.name if prompt.is_reference else named.setdefault(prompt.system, prompt.name)
            )
            if twin != prompt.name:
                raise ValueError(
                    f"The prompts {twin} and {prompt.name} have the same system message, which is "
                    "what evolves. Change or remove one of them."
                )
        if any(prompt.messages is not None for prompt in prompts):
            raise ValueError(
                "Only system messages evolve. Give prompts as system and user, not as messages."
            )
        return prompts

    @field_validator("models")
    @classmethod
    def check_models(cls, models: list[ModelChoice]) -> list[ModelChoice]:
        if len(models) > 1:
            raise ValueError("A prompt is bred for one model. Start a run for each of the others.")
        return models

    @field_validator("operators")
    @classmethod
    def check_operators(cls, operators: list[OperatorChoice]) -> list[OperatorChoice]:
        known = [OPERATORS[one.name] for one in operators if one.name in OPERATORS]
        if sum(issubclass(one, TextOperator) for one in known) > 1:
            raise ValueError(
                "Give one of words and sections: a genome is a sequence of words or of sections."
            )
        return operators

    @property
    def model(self) -> ModelChoice:
        return self.models[0]

    @property
    def options(self) -> EvolutionOptions:
        """Those of its strategy, with all that was not given."""
        chosen: EvolutionOptions = EVOLUTIONS.choose(
            self.strategy.name, self.strategy.options
        ).options
        return chosen

    @property
    def writers(self) -> list[tuple[str, ModelChoice]]:
        """The models that write prompts, each with its path in the document."""
        made = [
            (index, one.operator)
            for index, one in enumerate(self.operators)
            if one.name in OPERATORS
        ]
        return [
            (f"operators.{index}.model", one.model)
            for index, one in made
            if isinstance(one, WritingOperator) and one.model is not None
        ]

    @property
    def called(self) -> list[ModelChoice]:
        return [self.model, *(model for _, model in self.writers)]

    @property
    def answering(self) -> list[ModelChoice]:
        return [self.model]

    def model_path(self, index: int) -> str:
        return "models.0" if index == 0 else self.writers[index - 1][0]

    @property
    def candidates(self) -> int:
        return self.candidates_at_launch + self.options.most_born

    @property
    def candidates_at_launch(self) -> int:
        return self.options.in_first(len(self.prompts))

    def written_prompts(self) -> Iterator[tuple[str, PromptParts]]:
        return ((f"prompts.{index}", prompt) for index, prompt in enumerate(self.prompts))

    def templates(self) -> Iterator[Template]:
        for index, prompt in enumerate(self.prompts):
            yield Template(f"prompts.{index}.system", prompt.system, ())
        yield Template("prompts.0.user", self.prompts[0].user, ())

    def plugin_problems(self) -> list[Problem]:
        named = {"strategy": self.strategy, **numbered("operators", self.operators)}
        return [*super().plugin_problems(), *problems_with(named)]

    def make_candidates(self) -> list[Candidate]:
        return list(self.open_strategy(1).candidates)

    def open_strategy(self, cases: int) -> Life[Any]:
        return EVOLUTIONS[self.strategy.name](self, cases, self.options)

    def bound_trials(self, cases: int) -> TrialRange:
        """At least the first generation; at most every child of every one on all its cases."""
        options, prompts = self.options, len(self.prompts)
        least, most = options.first_trials(cases, prompts), options.most_trials(cases, prompts)
        return TrialRange(least * self.repeats, most * self.repeats)

    def calls_in_a_row(self) -> int:
        """A prompt is written first."""
        return 1 + super().calls_in_a_row()

    def sizes_of_rounds(self, cases: int) -> list[int]:
        """Generations."""
        bounds, later = self.bound_trials(cases), self.options.most_generations - 1
        each = math.ceil((bounds.most - bounds.least) / later) if later else 0
        return [bounds.least, *[each] * later]

    def count_confirming(self, cases: int) -> int:
        """Of the best, and of the best prompt that it began with."""
        return 2 * super().count_confirming(cases)

    def told(self, cases: int) -> list[ModelTrials]:
        """What writers are asked for: in every generation after the first."""
        children = self.options.population_size - self.options.elite_size
        turns = Toolbox(self.operators).in_turn(children)
        asked = [one.operator.model or self.model for one in turns if one is not None]
        models = {model.full_label: model for model in asked}
        born = self.options.most_generations - 1
        shares = Counter(model.full_label for model in asked)
        return [ModelTrials(model, shares[label] * born) for label, model in models.items()]
