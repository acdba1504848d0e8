"""The part of the new-run form that is about choosing among combinations: steps, strategy, aim."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.http import QueryDict

from runs.forms.model_parameters import number_or_text, number_text
from workers.engine.kinds.select import Selection
from workers.engine.kinds.select.steps import Step
from workers.engine.strategies.describing import (
    RECOMMENDED,
    OptionDescription,
    StrategyDescription,
    describe_options,
    describe_strategies,
)
from workers.engine.strategies.options import Objective

DEFAULT_STRATEGY = "arm_elimination"  # of a document that names none
CHOICE_LABELS = {
    "weighted": "One winner",
    "pareto": "All that no other beats",
    "survivors": "Combinations not given up",
    "anyone": "All combinations",
    "wrong": "Count as wrong answers",
    "dropped": "Are left out",
}
MOST_STEPS = 20
AIM = "objective"


@dataclass(slots=True)
class StepInput:
    index: int
    name: str = ""
    system: str = ""
    user: str = ""
    models: list[str] = field(default_factory=list)
    other_models: str = ""

    @property
    def field(self) -> str:
        return f"id_step-{self.index}"

    @property
    def all_models(self) -> list[str]:
        typed = (line.strip() for line in self.other_models.splitlines())
        return [*self.models, *(line for line in typed if line)]

    @property
    def is_blank(self) -> bool:
        return not (self.name or self.system or self.all_models)


class OptionField(NamedTuple):
    """One option as a form shows it."""

    described: OptionDescription
    field: str
    value: str

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Each value with what a person reads."""
        return [(value, CHOICE_LABELS.get(value, value)) for value in self.described.choices]


@dataclass(slots=True)
class SelectionInput:
    """Every field of it, as text."""

    steps: list[StepInput] = field(default_factory=list)
    strategy: str = DEFAULT_STRATEGY
    options: dict[str, dict[str, str]] = field(default_factory=dict)  # by strategy
    objective: dict[str, str] = field(default_factory=dict)

    @property
    def filled_steps(self) -> list[StepInput]:
        return [step for step in self.steps if not step.is_blank]

    def document(self, entry: Callable[[str], Any]) -> dict[str, Any]:
        """The parts of a document; `entry` writes a model with the parameters of all."""
        described = {each.name: each.options for each in describe_strategies()}
        chosen = self.options.get(self.strategy, {})
        options = given_options(described.get(self.strategy, ()), chosen)
        aims = given_options(describe_options(Objective), self.objective)
        return {
            "steps": [
                {
                    "name": step.name,
                    "system": step.system,
                    "user": step.user,
                    "models": [entry(label) for label in step.all_models],
                }
                for step in self.filled_steps
            ],
            "strategy": {"name": self.strategy, **options} if options else self.strategy,
            **({AIM: aims} if aims else {}),
        }

    def strategies(self) -> list[tuple[StrategyDescription, list[OptionField]]]:
        return [
            (
                each,
                option_fields(f"strategy-{each.name}", each.options, self.options.get(each.name)),
            )
            for each in describe_strategies()
        ]

    def aims(self) -> list[OptionField]:
        return option_fields(AIM, describe_options(Objective), self.objective)


def option_fields(
    prefix: str, options: Sequence[OptionDescription], values: Mapping[str, str] | None
) -> list[OptionField]:
    """With the defaults where nothing was typed yet."""
    return [
        OptionField(
            option,
            f"{prefix}-{option.name}",
            text_of(option.default) if values is None else values.get(option.name, ""),
        )
        for option in options
    ]


def given_options(
    options: Sequence[OptionDescription], values: Mapping[str, str]
) -> dict[str, Any]:
    """Only what differs from the defaults. What is no number stays text, for the schema to
    refuse."""
    found = {}
    for option in options:
        text = values.get(option.name, "").strip()
        value: Any = number_or_text(text) if option.kind == "number" else text
        if option.kind == "boolean":
            value = text == "on"
        if text and value != option.default:
            found[option.name] = value
    return found


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, int | float):
        return number_text(value)
    return "" if value is None else str(value)


def blank_selection() -> SelectionInput:
    step = StepInput(0, "solver", "", "{{question}}")
    return with_defaults(SelectionInput(steps=[step], strategy=RECOMMENDED))


def with_defaults(given: SelectionInput) -> SelectionInput:
    """The options of the strategies that were not chosen are those that they come with."""
    for each in describe_strategies():
        texts = {option.name: text_of(option.default) for option in each.options}
        given.options[each.name] = {**texts, **given.options.get(each.name, {})}
    aims = {option.name: text_of(option.default) for option in describe_options(Objective)}
    given.objective = {**aims, **given.objective}
    return given


def read_selection(post: QueryDict) -> SelectionInput:
    return SelectionInput(
        steps=read_steps(post),
        strategy=post.get("strategy", DEFAULT_STRATEGY),
        options={
            each.name: {
                option.name: post.get(f"strategy-{each.name}-{option.name}", "")
                for option in each.options
            }
            for each in describe_strategies()
        },
        objective={
            option.name: post.get(f"{AIM}-{option.name}", "")
            for option in describe_options(Objective)
        },
    )


def read_steps(post: QueryDict) -> list[StepInput]:
    """The rows in the order of their numbers, which may have gaps where one was removed."""
    numbers = sorted(
        int(number) for number in post.getlist("steps") if number.isdecimal() and len(number) < 6
    )
    return [
        StepInput(
            number,
            name=post.get(f"step-{number}-name", "").strip(),
            system=post.get(f"step-{number}-system", ""),
            user=post.get(f"step-{number}-user", ""),
            models=post.getlist(f"step-{number}-models"),
            other_models=post.get(f"step-{number}-other_models", ""),
        )
        for number in numbers[:MOST_STEPS]
    ]


def selection_input_of(configuration: Selection) -> SelectionInput:
    """Steps that are more than a call have no fields here; then the whole is shown as YAML."""
    calls = [step for step in configuration.steps if isinstance(step, Step)]
    chosen = configuration.strategy
    texts = {name: text_of(value) for name, value in chosen.options.items()}
    aims = {name: text_of(value) for name, value in configuration.objective}
    return with_defaults(
        SelectionInput(
            steps=[
                StepInput(index, step.name, step.system, step.user, [m.label for m in step.models])
                for index, step in enumerate(calls)
            ],
            strategy=chosen.name,
            options={chosen.name: texts},
            objective=aims,
        )
    )
