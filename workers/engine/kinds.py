"""What each kind of run is made of: its candidates and its strategy."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

from workers.engine.json_text import digest, to_json
from workers.engine.records import Candidate
from workers.engine.session import Session
from workers.engine.spec import Configuration, Evaluation, ModelChoice, Selection, count_trials
from workers.engine.spec_steps import AgentStep, ChatCall, Step, slots_of
from workers.engine.strategies import Grid, Rounds, build_selection


def make_candidates(configuration: Configuration) -> list[Candidate]:
    if isinstance(configuration, Selection):
        return make_combinations(configuration)
    assert isinstance(configuration, Evaluation)  # there are no other kinds
    return make_prompts_with_models(configuration)


def make_prompts_with_models(configuration: Evaluation) -> list[Candidate]:
    """Every prompt with every model, in the order given. Parameters are told where the same model
    is there with others: else the name stays when they are changed, and runs can be compared."""
    labels = Counter(model.label for model in configuration.models)
    candidates = []
    for prompt in configuration.prompts:
        for model in configuration.models:
            document = {"prompt": prompt.model_dump(), "model": model.model_dump()}
            label = label_of(model) if labels[model.label] > 1 else model.label
            name = f"{prompt.name} · {label}"
            candidates.append(Candidate(digest(document)[:16], name, document))
    return candidates


def make_combinations(configuration: Selection) -> list[Candidate]:
    """A model for every slot, in the order of the product."""
    slots = slots_of(configuration.steps)
    candidates = []
    for models in product(*(slot.call.models for slot in slots)):
        chosen = {slot.name: model for slot, model in zip(slots, models, strict=True)}
        choices = {name: label_of(model) for name, model in chosen.items()}
        name = " + ".join(f"{slot}={label}" for slot, label in choices.items())
        steps = [step_document(step, chosen) for step in configuration.steps]
        document = {"steps": steps, "choices": choices}
        candidates.append(Candidate(digest(document)[:16], name, document))
    return candidates


def step_document(step: Step | AgentStep, chosen: Mapping[str, ModelChoice]) -> dict[str, Any]:
    """What the pipeline needs of a step. What is not used is left out, so that a combination
    keeps its key when steps learn something new."""
    if isinstance(step, AgentStep):
        document = step.model_dump(include={"name", "agent", "options"})
        document["calls"] = [
            call_document(call, chosen[f"{step.name}.{call.name}"]) for call in step.calls
        ]
    else:
        document = call_document(step, chosen[step.name])
    if step.routes:
        document |= step.model_dump(include={"routes", "default"})
    return document


def call_document(call: ChatCall, model: ModelChoice) -> dict[str, Any]:
    return {**call.model_dump(include={"name", "system", "user"}), "model": model.model_dump()}


def label_of(model: ModelChoice) -> str:
    """The same model with other parameters is another choice."""
    if not model.parameters:
        return model.label
    return f"{model.label} {to_json(model.parameters).decode()}"


def models_called(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The models that a candidate calls, by its document."""
    if "steps" in document:
        return [call["model"] for step in document["steps"] for call in step.get("calls", [step])]
    return [document["model"]]


def open_session(configuration: Configuration, cases: int) -> Session:
    """A session at its beginning."""
    if isinstance(configuration, Selection):
        return Session(open_selection(configuration, cases))
    candidates = make_candidates(configuration)
    by_candidate = configuration.limits.schedule == "two_level"
    repeats, seed = configuration.repeats, configuration.seed
    return Session(Grid(candidates, cases, repeats, seed, by_candidate=by_candidate))


class TrialRange(NamedTuple):
    """How many trials a run may have."""

    least: int
    most: int


def bound_trials(configuration: Configuration, cases: int) -> TrialRange:
    """Exactly, but for who chooses among candidates: at least its first round, at most every
    candidate on every case, or its budget."""
    trials = count_trials(configuration, cases)
    if not isinstance(configuration, Selection):
        return TrialRange(trials, trials)
    strategy = open_selection(configuration, cases)
    most = min(trials, strategy.options.budget or trials)
    first = sum(pull.cases for pull in strategy.next_pulls())
    return TrialRange(min(first, most), most)


def open_selection(configuration: Selection, cases: int) -> Rounds[Any]:
    return build_selection(
        configuration.strategy.name,
        make_candidates(configuration),
        cases,
        repeats=configuration.repeats,
        seed=configuration.seed,
        options=configuration.strategy.options,
        objective=configuration.objective,
    )
