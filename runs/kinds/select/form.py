"""The steps, the strategy and the aim of a selection in the new-run form."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.http import QueryDict

from runs.forms.options import (
    OptionField,
    default_texts,
    given_options,
    option_fields,
    option_text,
    posted_options,
)
from runs.kinds.section import TEMPLATE_ROW, FormSection, Place, next_number
from runs.kinds.select.step_rows import (
    FLOW,
    StepInput,
    grouped,
    read_steps,
    rows_of,
    step_document,
)
from workers.engine.kinds.select import Selection
from workers.engine.named import Description, describe_options
from workers.engine.strategies import SELECTIONS
from workers.engine.strategies.options import Objective

DEFAULT_STRATEGY = "arm_elimination"  # of a document that names none
AIM = "objective"


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
        step = StepInput(0, "solver", user="{{question}}")
        return with_defaults(cls(steps=[step], strategy=SELECTIONS.recommended))

    @classmethod
    def read(cls, post: QueryDict) -> "StepsSection":
        return cls(
            steps=read_steps(post),
            strategy=post.get("strategy", DEFAULT_STRATEGY),
            options={
                each.name: posted_options(f"strategy-{each.name}", each.options, post)
                for each in SELECTIONS.describe()
            },
            objective=posted_options(AIM, describe_options(Objective), post),
        )

    @classmethod
    def of(cls, configuration: Selection) -> "StepsSection":
        chosen = configuration.strategy
        texts = {name: option_text(value) for name, value in chosen.options.items()}
        aims = {name: option_text(value) for name, value in configuration.objective}
        return with_defaults(
            cls(rows_of(configuration.steps), chosen.name, {chosen.name: texts}, aims)
        )

    @property
    def filled_steps(self) -> list[StepInput]:
        return [step for step in self.steps if not step.is_blank]

    def document(self, entry: Callable[[str], Any]) -> dict[str, Any]:
        described = {each.name: each.options for each in SELECTIONS.describe()}
        chosen = self.options.get(self.strategy, {})
        options = given_options(described.get(self.strategy, ()), chosen)
        aims = given_options(describe_options(Objective), self.objective)
        return {
            "steps": [step_document(rows, entry) for rows in grouped(self.filled_steps)],
            "strategy": {"name": self.strategy, **options} if options else self.strategy,
            **({AIM: aims} if aims else {}),
        }

    def strategies(self) -> list[tuple[Description, list[OptionField]]]:
        return [
            (
                each,
                option_fields(
                    f"strategy-{each.name}", each.options, self.options.get(each.name, {})
                ),
            )
            for each in SELECTIONS.describe()
        ]

    def aims(self) -> list[OptionField]:
        return option_fields(AIM, describe_options(Objective), self.objective)

    def change_rows(self, post: QueryDict) -> bool:
        if "add_step" in post:
            self.steps.append(StepInput(next_number(self.steps), user="{{question}}"))
        gone = post.get("remove_step")
        self.steps = [step for step in self.steps if str(step.index) != gone]
        changes = [step.change_messages(post) for step in self.steps]
        return "add_step" in post or gone is not None or any(changes)

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
        """`place` is that of the step; a call of an agent has its place in the path, too."""
        steps = grouped(self.filled_steps)
        if place >= len(steps):
            return self.fields["steps"]
        rows, below = steps[place], list(parts)
        row = rows[0]
        if below[:1] == ["calls"] and len(below) > 1 and below[1].isdecimal():
            row, below = rows[min(int(below[1]), len(rows) - 1)], below[2:]
            below = ["call"] if below[:1] == ["name"] else below
        named = below[0] if below else "name"
        part = {"options": "agent_options", "calls": "call"}.get(named, named)
        own = part in FLOW or part == "models"
        found = f"{row.field}-{part}" if own else row.find_part([part])
        return found, f"Step {place + 1}, {found.rpartition('-')[2].replace('_', ' ')}"

    def unlisted(self, offered: Collection[str]) -> list[str]:
        named = dict.fromkeys(model for step in self.steps for model in step.models)
        return [model for model in named if model not in offered]

    @classmethod
    def meaning(cls, configuration: Selection) -> dict[str, Any]:
        chosen = configuration.strategy
        return {"strategy": SELECTIONS.choose(chosen.name, chosen.options)}


def with_defaults(given: StepsSection) -> StepsSection:
    """The options of the strategies that were not chosen are those that they come with."""
    for each in SELECTIONS.describe():
        texts = default_texts(each.options)
        given.options[each.name] = {**texts, **given.options.get(each.name, {})}
    given.objective = {**default_texts(describe_options(Objective)), **given.objective}
    return given
