"""The candidates of a selection: every combination of models for the steps."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from workers.engine.json_text import digest
from workers.engine.kinds.select.steps import AgentStep, ChatCall, Step, slots_of
from workers.engine.records import Candidate
from workers.engine.spec.model_choice import ModelChoice


def make_combinations(steps: Sequence[Step | AgentStep]) -> list[Candidate]:
    """A model for every slot, in the order of the product."""
    slots = slots_of(steps)
    candidates = []
    for models in product(*(slot.call.models for slot in slots)):
        chosen = {slot.name: model for slot, model in zip(slots, models, strict=True)}
        choices = {name: model.full_label for name, model in chosen.items()}
        name = " + ".join(f"{slot}={label}" for slot, label in choices.items())
        filled = [step_document(step, chosen) for step in steps]
        document = {"steps": filled, "choices": choices}
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


def models_called(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The models of a combination, by its document, in the order of the slots."""
    return [call["model"] for step in document["steps"] for call in step.get("calls", [step])]


def call_document(call: ChatCall, model: ModelChoice) -> dict[str, Any]:
    return {**call.document(), "model": model.model_dump()}
