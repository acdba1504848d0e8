"""The rows of a pipeline in the new-run form: one for each call.

A step is a row; rows of one name that follow each other and have an agent are the calls of that
agent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

from django.http import QueryDict

from runs.forms.model_parameters import read_lines
from runs.forms.prompts import PromptFields, filled_prompt, posted_prompt
from runs.kinds.section import row_numbers
from workers.engine.agents import AGENTS
from workers.engine.kinds.select.steps import AgentStep, ChatCall, Step
from workers.engine.spec.documents import write_document

MOST_ROWS = 60  # calls; the schema says how many steps there may be
HELP = {
    "routes": "What the answer says, and the later step that then runs instead of the others named "
    "here.",
    "default": "The step that runs when the answer says none of the routes.",
    "call": "As the agent calls it, as in draft.",
}
FLOW = ("agent", "agent_options", "call", "routes", "default")


@dataclass(slots=True)
class StepInput(PromptFields):
    thing: ClassVar[str] = "step"
    help: ClassVar[Mapping[str, str]] = HELP

    models: list[str] = field(default_factory=list)
    other_models: str = ""
    agent: str = ""  # empty: the step is a call
    agent_options: str = ""  # as YAML
    call: str = ""  # its name, of an agent
    routes: str = ""  # `word: step`, one a line
    default: str = ""

    @property
    def all_models(self) -> list[str]:
        typed = (line.strip() for line in self.other_models.splitlines())
        return [*self.models, *(line for line in typed if line)]

    @property
    def is_blank(self) -> bool:
        return self.is_untouched and not self.all_models

    @property
    def has_flow(self) -> bool:
        return any(getattr(self, name) for name in FLOW)

    @property
    def agents(self) -> list[str]:
        """Those that can be chosen, and one that was and is not installed any more."""
        return list(dict.fromkeys([*AGENTS, *([self.agent] if self.agent else [])]))

    def group(self) -> tuple[str, str, int]:
        """What rows of one step have in common; a row without an agent stands for itself."""
        return self.agent, self.name, -1 if self.agent else self.index


def grouped(rows: Sequence[StepInput]) -> list[list[StepInput]]:
    """The rows of each step."""
    return [list(group) for _, group in groupby(rows, key=StepInput.group)]


def step_document(rows: Sequence[StepInput], entry: Any) -> dict[str, Any]:
    first = rows[0]
    flow: dict[str, Any] = {"routes": read_routes(first.routes)} if first.routes.strip() else {}
    if first.default.strip():
        flow["default"] = first.default.strip()
    if not first.agent:
        return {**call_document(first, entry), **flow}
    options = {"options": read_lines(first.agent_options)} if first.agent_options.strip() else {}
    calls = [{**call_document(row, entry), "name": row.call.strip()} for row in rows]
    return {"name": first.name, "agent": first.agent, **options, "calls": calls, **flow}


def call_document(row: StepInput, entry: Any) -> dict[str, Any]:
    return {**row.prompt_document(), "models": [entry(label) for label in row.all_models]}


def read_routes(text: str) -> dict[str, str]:
    """Not as YAML, to which `yes` and `no` are no words."""
    lines = (line.rpartition(":") for line in text.splitlines() if line.strip())
    return {word.strip(): step.strip() for word, _, step in lines}


def rows_of(steps: Sequence[Step | AgentStep]) -> list[StepInput]:
    """As a stored pipeline fills them."""
    calls = [one for step in steps for one in calls_of(step)]
    return [
        StepInput(
            index,
            **{**filled_prompt(call, "step", index), **names},
            models=[model.label for model in call.models],
        )
        for index, (call, names) in enumerate(calls)
    ]


def calls_of(step: Step | AgentStep) -> Iterator[tuple[ChatCall, dict[str, str]]]:
    """Each call with what the row says besides its prompt and its models."""
    flow = {
        "routes": "\n".join(f"{word}: {target}" for word, target in step.routes.items()),
        "default": step.default or "",
    }
    if isinstance(step, Step):
        yield step, flow
        return
    options = write_document(step.options) if step.options else ""
    agent = {"name": step.name, "agent": step.agent}
    for place, call in enumerate(step.calls):
        first = {"agent_options": options, **flow} if place == 0 else {}
        yield call, {**agent, "call": call.name, **first}


def read_steps(post: QueryDict) -> list[StepInput]:
    return [
        StepInput(
            number,
            **{**posted_prompt(post, "step", number), **posted_flow(post, number)},
            models=post.getlist(f"step-{number}-models"),
            other_models=post.get(f"step-{number}-other_models", ""),
        )
        for number in row_numbers(post, "steps", MOST_ROWS)
    ]


def posted_flow(post: QueryDict, number: int) -> dict[str, str]:
    return {name: post.get(f"step-{number}-{name}", "") for name in FLOW}
