"""The steps, the strategy and the aim of a selection in the new-run form."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from django.http import QueryDict

from runs.forms.model_parameters import number_or_text, number_text
from runs.kinds.section import TEMPLATE_ROW, FormSection, Place, next_number, row_numbers
from workers.engine.kinds.select import Selection
from workers.engine.kinds.select.steps import Step
from workers.engine.strategies import read_options
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
class StepsSection(FormSection):
    template: ClassVar[str] = "kinds/select/form.html"
    fields: ClassVar[Mapping[str, Place]] = {
        "steps": ("id_steps", "Steps"),
        "strategy": ("id_strategy", "Strategy"),
        "objective": ("id_objective", "What is best"),
    }
    template_row: ClassVar[StepInput] = StepInput(TEMPLATE_ROW, user="{{question}}")

    steps: list[StepInput] = field(default_factory=list)
    strategy: str = DEFAULT_STRATEGY
    options: dict[str, dict[str, str]] = field(default_factory=dict)  # by strategy
    objective: dict[str, str] = field(default_factory=dict)

    @classmethod
    def blank(cls) -> "StepsSection":
        step = StepInput(0, "solver", "", "{{question}}")
        return with_defaults(cls(steps=[step], strategy=RECOMMENDED))

    @classmethod
    def read(cls, post: QueryDict) -> "StepsSection":
        return cls(
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

    @classmethod
    def of(cls, configuration: Selection) -> "StepsSection":
        """Steps that are more than a call have no fields here; then the whole is shown as YAML."""
        calls = [step for step in configuration.steps if isinstance(step, Step)]
        chosen = configuration.strategy
        texts = {name: text_of(value) for name, value in chosen.options.items()}
        aims = {name: text_of(value) for name, value in configuration.objective}
        steps = [
            StepInput(index, step.name, step.system, step.user, [m.label for m in step.models])
            for index, step in enumerate(calls)
        ]
        return with_defaults(cls(steps, chosen.name, {chosen.name: texts}, aims))

    @property
    def filled_steps(self) -> list[StepInput]:
        return [step for step in self.steps if not step.is_blank]

    def document(self, entry: Callable[[str], Any]) -> dict[str, Any]:
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

    def change_rows(self, post: QueryDict) -> bool:
        if "add_step" in post:
            self.steps.append(StepInput(next_number(self.steps), user="{{question}}"))
        gone = post.get("remove_step")
        self.steps = [step for step in self.steps if str(step.index) != gone]
        return "add_step" in post or gone is not None

    def find_field(self, parts: Sequence[str]) -> Place | None:
        if parts[0] == "steps" and "parameters" in parts:
            return "id_parameters", "Model parameters"
        if parts[0] == "steps" and len(parts) > 1 and parts[1].isdecimal():
            return self.find_step(int(parts[1]), parts[2:])
        if parts[0] == AIM and len(parts) > 1:
            labels = {option.name: option.label for option in describe_options(Objective)}
            return f"id_{AIM}-{parts[1]}", labels.get(parts[1], self.fields[AIM][1])
        return self.fields.get(parts[0])

    def find_step(self, place: int, parts: Sequence[str]) -> Place:
        if place >= len(self.filled_steps):
            return self.fields["steps"]
        part = parts[0] if parts and parts[0] in ("name", "system", "user", "models") else "name"
        return f"{self.filled_steps[place].field}-{part}", f"Step {place + 1}, {part}"

    def unlisted(self, offered: Collection[str]) -> list[str]:
        named = dict.fromkeys(model for step in self.steps for model in step.models)
        return [model for model in named if model not in offered]

    @classmethod
    def meaning(cls, configuration: Selection) -> dict[str, Any]:
        chosen = configuration.strategy
        return {"strategy": (chosen.name, read_options(chosen.name, chosen.options))}


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


def with_defaults(given: StepsSection) -> StepsSection:
    """The options of the strategies that were not chosen are those that they come with."""
    for each in describe_strategies():
        texts = {option.name: text_of(option.default) for option in each.options}
        given.options[each.name] = {**texts, **given.options.get(each.name, {})}
    aims = {option.name: text_of(option.default) for option in describe_options(Objective)}
    given.objective = {**aims, **given.objective}
    return given


def read_steps(post: QueryDict) -> list[StepInput]:
    return [
        StepInput(
            number,
            name=post.get(f"step-{number}-name", "").strip(),
            system=post.get(f"step-{number}-system", ""),
            user=post.get(f"step-{number}-user", ""),
            models=post.getlist(f"step-{number}-models"),
            other_models=post.get(f"step-{number}-other_models", ""),
        )
        for number in row_numbers(post, "steps", MOST_STEPS)
    ]
