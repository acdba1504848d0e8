"""Kind `select`: the best combination of models for the steps of a pipeline."""

from collections.abc import Iterator, Mapping
from itertools import chain
from math import prod
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from workers.engine.chunks import Work
from workers.engine.errors import Problem
from workers.engine.kinds.select.combinations import make_combinations, models_called
from workers.engine.kinds.select.pipeline import PipelineTarget
from workers.engine.kinds.select.steps import (
    AnyStep,
    agent_problems,
    flow_problems,
    most_calls,
    slots_of,
    templates_of,
)
from workers.engine.kinds.select.strategy_choice import StrategyChoice
from workers.engine.records import Candidate
from workers.engine.spec.configuration import (
    CASES,
    KIND,
    Configuration,
    DatasetChoice,
    ModelChoice,
    Template,
    TrialRange,
)
from workers.engine.spec.prompts import PromptParts
from workers.engine.strategies import (
    SELECTIONS,
    Rounds,
    Strategy,
    build_selection,
    check_objective,
    problem_with_selection,
)
from workers.engine.strategies.bystander import Bystander
from workers.engine.strategies.confirmed import Confirmed
from workers.engine.strategies.options import Objective
from workers.engine.strategies.rounds import rehearse
from workers.engine.targets import Target


def rounds_in(begun: Strategy) -> Rounds[Any]:
    """The strategy that chooses, also where the best is confirmed after it."""
    strategy = begun.inner if isinstance(begun, Confirmed) else begun
    assert isinstance(strategy, Rounds)  # every strategy of a selection is one
    return strategy


MOST_REHEARSED = 100  # combinations
QUICK = SELECTIONS.ours.keys() - {"bayesian"}  # strategies that plan in no time to speak of


class Selection(Configuration):
    """Kind `select`: the best combination of models for the steps of a pipeline."""

    learns: ClassVar[bool] = Rounds.learns
    target: ClassVar[type[Target]] = PipelineTarget

    kind: Literal["select"] = Field(description=KIND)
    dataset: DatasetChoice = Field(description=CASES)
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
        if self.strategy.name in SELECTIONS:
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

    def written_prompts(self) -> Iterator[tuple[str, PromptParts]]:
        return ((slot.path, slot.call) for slot in slots_of(self.steps))

    def templates(self) -> Iterator[Template]:
        return templates_of(self.steps)

    def problems(self) -> list[Problem]:
        return flow_problems(self.steps)

    def plugin_problems(self) -> list[Problem]:
        chosen = self.strategy
        told = problem_with_selection(chosen.name, chosen.options, self.candidates)
        missing = [Problem("strategy", told)] if told else []
        return [*super().plugin_problems(), *missing, *agent_problems(self.steps)]

    def model_path(self, index: int) -> str:
        wanted = self.called[index].label
        return next(
            f"{slot.path}.models.{number}"
            for slot in slots_of(self.steps)
            for number, model in enumerate(slot.call.models)
            if model.label == wanted
        )

    def make_candidates(self) -> list[Candidate]:
        return make_combinations(self.steps)

    def open_strategy(self, cases: int) -> Rounds[Any]:
        return build_selection(
            self.strategy.name,
            self.make_candidates(),
            cases,
            repeats=self.repeats,
            seed=self.seed,
            options=self.strategy.options,
            objective=self.objective,
            by_candidate=self.limits.schedule == "two_level",
        )

    def stand_in(self, cases: int, chosen: int | None) -> Bystander:
        """To look at a run whose strategy is not installed any more."""
        return Bystander(self.make_candidates(), cases, self.repeats, self.objective, chosen)

    def bound_trials(self, cases: int) -> TrialRange:
        """At least the strategy's first round, at most every combination on every case, or the
        strategy's budget."""
        trials = self.candidates * cases * self.repeats
        strategy = self.open_strategy(cases)
        most = min(trials, strategy.options.budget or trials)
        first = sum(pull.cases for pull in strategy.next_pulls())
        return TrialRange(min(first, most), most)

    def first_round(self, cases: int) -> Work:
        pulls = self.open_strategy(cases).next_pulls()
        most = max((pull.cases for pull in pulls), default=0)
        return Work(len(pulls), most, sum(pull.cases for pull in pulls))

    def sizes_of_rounds(self, cases: int) -> list[int]:
        """Of a strategy whose planning takes no time to speak of; plug-ins are not tried here."""
        if self.strategy.name not in QUICK or self.candidates > MOST_REHEARSED:
            return super().sizes_of_rounds(cases)
        return rehearse(self.open_strategy(cases), self.bound_trials(cases).most)

    def calls_per_trial(self) -> int:
        return sum(most_calls(step) for step in self.steps)

    @staticmethod
    def models_called(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return models_called(document)
