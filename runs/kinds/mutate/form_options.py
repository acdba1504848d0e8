"""How long a mutation trains, as its form offers it: presets fill in what is left empty."""

import json
from collections.abc import Sequence
from typing import Any

from runs.forms.options import given_options, option_text
from runs.kinds.named_fields import (
    NamedFields,
    Preset,
    StrategyField,
    Texts,
    is_number,
    typed_numbers,
    without_numbers,
)
from workers.engine.kinds.mutate.learners import LEARNERS
from workers.engine.kinds.mutate.operators import OPERATORS
from workers.engine.named import Description

# Only the form has them: what is sent are their numbers. Empty: as the strategies come.
PRESETS: dict[str, dict[str, int]] = {
    "": {},
    "quick_look": {"num_processes": 8, "num_steps": 8, "updates": 5},
    "thorough": {"num_processes": 32, "num_steps": 64, "updates": 40},
}
LABELS = {"": "Standard", "quick_look": "Quick look", "thorough": "Thorough"}
# What a person usually changes, in this order; all else is behind "More".
MAIN = ("num_processes", "num_steps", "updates", "ppo_epoch", "num_mini_batch", "lr", "exploration")
UPDATES = "20"  # where neither these nor steps in all are given
OPERATOR_FIELDS = NamedFields(OPERATORS, "rewriting")
LEARNER_FIELDS = NamedFields(LEARNERS, "learner")


def operator_entries(chosen: Sequence[str], texts: Texts) -> list[Any]:
    found: list[Any] = []
    for name in chosen:
        options = OPERATOR_FIELDS.options(name, texts)
        found.append({name: options} if options else name)
    return found


def chosen_options(name: str, preset: str, texts: Texts) -> dict[str, Any]:
    """What was typed, and of the preset what was not."""
    if name not in LEARNERS:
        return {}  # the schema says which there are
    own, described = texts.get(name, {}), LEARNERS.describe_one(name).options
    typed, said = typed_numbers(described, own), dict(PRESETS.get(preset, {}))
    if "num_env_steps" in typed:
        said.pop("updates", None)  # one of them says how long
    return {**said, **typed, **given_options(without_numbers(described), own)}


def strategy_fields(chosen: str, preset: str, texts: Texts) -> list[StrategyField]:
    return [
        LEARNER_FIELDS.strategy(
            each,
            texts.get(each.name, {}),
            placeholders(each, preset),
            MAIN,
            is_chosen=each.name == chosen,
        )
        for each in LEARNERS.describe()
    ]


def placeholders(each: Description, preset: str) -> dict[str, str]:
    """What the numbers are if their fields stay empty."""
    usual = {one.name: option_text(one.default) for one in each.options if is_number(one)}
    said = {name: str(value) for name, value in PRESETS.get(preset, {}).items()}
    return {**usual, "updates": UPDATES, **said}


def preset_fields(chosen: str) -> list[Preset]:
    changed = {name for values in PRESETS.values() for name in values}
    found = []
    for name, label in LABELS.items():
        hints = {
            f"{LEARNER_FIELDS.prefix(each.name)}-{option}": text
            for each in LEARNERS.describe()
            for option, text in placeholders(each, name).items()
            if option in changed
        }
        found.append(Preset(name, label, name == chosen, json.dumps(hints)))
    return found
