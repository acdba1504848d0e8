"""The steps of a pipeline as a configuration writes them, and what can be wrong with them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Discriminator, Field, Tag, field_validator

from workers.engine.agents import AGENTS, build_agent
from workers.engine.errors import Problem
from workers.engine.spec.model_choice import ModelChoice, Strict
from workers.engine.spec.parts import Template, check_models
from workers.engine.spec.prompts import PromptParts

StepName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$", max_length=100)]
RouteWord = Annotated[str, Field(min_length=1, max_length=100)]
Routes = Annotated[dict[RouteWord, StepName], Field(max_length=20)]
STEP = "Later templates use the answer by this name, as in {{planner}}."
ROUTES = "What the answer says, and the later step that then runs instead of the others named here."
DEFAULT = "The step that runs when the answer says none of the routes. Without it, the trial fails."


class ChatCall(PromptParts):
    """One chat call: its templates may name columns and the answers of earlier steps."""

    name: StepName = Field(description=STEP)
    models: Annotated[list[ModelChoice], Field(min_length=1, max_length=100)] = Field(
        description="The models to choose among for this call."
    )

    @field_validator("models")
    @classmethod
    def check_model_names(cls, models: list[ModelChoice]) -> list[ModelChoice]:
        return check_models(models)


class Step(ChatCall):
    """A step that is a chat call; with routes, its answer says which later step runs."""

    routes: Annotated[Routes, Field(description=ROUTES)] = {}
    default: Annotated[StepName | None, Field(description=DEFAULT)] = None


class AgentStep(Strict):
    """A step that is an installed agent, with the calls that it may make, each with its models."""

    name: StepName = Field(description=STEP)
    agent: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="An agent that EVALSITE_PLUGINS names, as in my_agents.Refine."
    )
    options: dict[str, Any] = Field({}, description="What the agent is made with.")
    calls: Annotated[list[ChatCall], Field(min_length=1, max_length=20)] = Field(
        description="The calls that the agent may make, by name."
    )
    routes: Annotated[Routes, Field(description=ROUTES)] = {}
    default: Annotated[StepName | None, Field(description=DEFAULT)] = None


def kind_of(value: Any) -> str:
    """Which of the two a step is: an agent's has an agent."""
    if isinstance(value, Mapping):
        return AgentStep.__name__ if "agent" in value else Step.__name__
    return type(value).__name__


AnyStep = Annotated[
    Annotated[Step, Tag(Step.__name__)] | Annotated[AgentStep, Tag(AgentStep.__name__)],
    Discriminator(kind_of),
]


class Slot(NamedTuple):
    """A place that a combination puts a model in."""

    path: str
    name: str  # of the step, or step.call of an agent
    call: ChatCall


def slots_of(steps: Sequence[Step | AgentStep]) -> list[Slot]:
    """In the order of the product."""
    return [slot for index, step in enumerate(steps) for slot in slots_in(step, index)]


def slots_in(step: Step | AgentStep, index: int) -> list[Slot]:
    if isinstance(step, Step):
        return [Slot(f"steps.{index}", step.name, step)]
    return [
        Slot(f"steps.{index}.calls.{number}", f"{step.name}.{call.name}", call)
        for number, call in enumerate(step.calls)
    ]


def templates_of(steps: Sequence[Step | AgentStep]) -> Iterator[Template]:
    for index, step in enumerate(steps):
        known = tuple(other.name for other in steps[:index])
        if isinstance(step, AgentStep):
            known += gives_of(step)
        for slot in slots_in(step, index):
            yield from slot.call.templates(slot.path, known)


def gives_of(step: AgentStep) -> tuple[str, ...]:
    agent = AGENTS.get(step.agent)
    return agent.gives if agent else ()  # that it is missing is said where the agent is named


def flow_problems(steps: Sequence[Step | AgentStep]) -> list[Problem]:
    """Names given twice, and routes that lead nowhere."""
    problems = list(twin_problems(steps))
    for index, step in enumerate(steps):
        problems += route_problems(step, index, [later.name for later in steps[index + 1 :]])
    return problems


def twin_problems(steps: Sequence[Step | AgentStep]) -> Iterator[Problem]:
    named = [(f"steps.{index}", step.name) for index, step in enumerate(steps)]
    named += [(slot.path, slot.name) for slot in slots_of(steps) if not isinstance(slot.call, Step)]
    seen: set[str] = set()
    for path, name in named:
        if name in seen:
            told = f"{name!r} is the name of another one too. Each must differ from the others."
            yield Problem(f"{path}.name", told)
        seen.add(name)


def route_problems(step: Step | AgentStep, index: int, later: Sequence[str]) -> Iterator[Problem]:
    targets = {f"routes.{word}": target for word, target in step.routes.items()}
    if step.default is not None:
        targets["default"] = step.default
        if not step.routes:
            told = "A default is for a step with routes, as in routes: {easy: STEP, hard: STEP}."
            yield Problem(f"steps.{index}.default", told)
    for place, target in targets.items():
        if target not in later:
            allowed = ", ".join(later) or "none; write them after this one"
            told = f"There is no later step {target!r}. Later steps are: {allowed}."
            yield Problem(f"steps.{index}.{place}", told)


def most_calls(step: Step | AgentStep) -> int:
    """Of one trial."""
    if isinstance(step, Step):
        return 1
    return build_agent(step.agent, step.options).count_calls(len(step.calls))


def agent_problems(steps: Sequence[Step | AgentStep]) -> list[Problem]:
    """What only the installed agents can tell."""
    return [
        Problem(f"steps.{index}.{place}", told)
        for index, step in enumerate(steps)
        if isinstance(step, AgentStep)
        for place, told in problems_of_agent(step)
    ]


def problems_of_agent(step: AgentStep) -> Iterator[tuple[str, str]]:
    try:
        wanted = AGENTS.find(step.agent).calls
    except ValueError as error:
        yield "agent", str(error)
        return
    if told := AGENTS.problem_with(step.agent, step.options):
        yield "options", told
    given = [call.name for call in step.calls]
    if missing := [name for name in wanted if name not in given]:
        yield "calls", f"The agent {step.agent} also calls {', '.join(missing)}. Describe it here."
    for number, name in enumerate(given):
        if wanted and name not in wanted:
            told = f"The agent {step.agent} never calls {name!r}. It calls: {', '.join(wanted)}."
            yield f"calls.{number}.name", told
