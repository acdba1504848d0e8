"""The options of operators and strategies of an evolution, as its form shows and sends them.

A number that is left empty is not sent: the preset says it, or else the strategy's own default.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from runs.forms.model_parameters import number_or_text
from runs.forms.options import given_options, option_text
from runs.kinds.named_fields import (
    EntryField,
    NamedFields,
    Options,
    Preset,
    StrategyField,
    Texts,
    is_number,
    typed_numbers,
    without_numbers,
)
from workers.engine.kinds.evolve import EVOLUTIONS
from workers.engine.kinds.evolve.operators import OPERATORS, TextOperator
from workers.engine.kinds.evolve.options import NULLS, PRESETS
from workers.engine.named import Description

NONE = "none"  # as a person types null
PRESET = "preset"  # has a field of its own
SAID_BY_A_PRESET = "is_random_search"
WRITER = "model"  # one field for all operators that ask a model
# What a person usually changes, in this order; all else is behind "More".
MAIN = (
    "num_candidates",
    "update_interval",
    "evolution_interval",
    "population_size",
    "max_generations",
    "max_episodes",
    "elite_size",
    "crossover_rate",
    "mutation_rate",
    "exploration",
    "target_fitness",
    "gate",
)


def own_options(described: Description) -> Options:
    """But for those that have a field elsewhere."""
    elsewhere = (WRITER, PRESET, SAID_BY_A_PRESET)
    return [option for option in described.options if option.name not in elsewhere]


OPERATOR_FIELDS = NamedFields(OPERATORS, "operator", own_options)
EVOLUTION_FIELDS = NamedFields(EVOLUTIONS, "evolution", own_options)
POSTED_FIELDS = NamedFields(EVOLUTIONS, "evolution")  # with the preset, which is no option field


def operator_options(name: str, texts: Texts, writer: Any) -> dict[str, Any]:
    options = OPERATOR_FIELDS.options(name, texts)
    return {**options, **({WRITER: writer} if writer and asks_a_model(name) else {})}


def asks_a_model(name: str) -> bool:
    return not issubclass(OPERATORS[name], TextOperator)


def operator_fields(chosen: Sequence[str], texts: Texts, *, writing: bool) -> list[EntryField]:
    """Those that ask a model, or those of chance."""
    found = OPERATOR_FIELDS.entries(chosen, texts)
    return [one for one in found if asks_a_model(one.described.name) == writing]


def evolution_texts(name: str, given: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return EVOLUTION_FIELDS.chosen_texts(name, given, value_text)


def value_text(value: Any) -> str:
    return NONE if value is None else option_text(value)


def chosen_options(name: str, texts: Texts) -> dict[str, Any]:
    """With every number that was typed, also one that equals the default: a preset has others."""
    if name not in EVOLUTIONS:
        return {}  # the schema says which there are
    own, described = texts.get(name, {}), EVOLUTIONS.describe_one(name).options
    others = [one for one in without_numbers(described) if one.name != SAID_BY_A_PRESET]
    return {**given_options(others, own), **typed_numbers(described, own, read_number)}


def read_number(name: str, text: str) -> Any:
    return None if name in NULLS and text.lower() in (NONE, "null") else number_or_text(text)


def strategy_fields(chosen: str, texts: Texts) -> list[StrategyField]:
    return [
        strategy_field(each, texts.get(each.name, {}), is_chosen=each.name == chosen)
        for each in EVOLUTIONS.describe()
    ]


def strategy_field(each: Description, own: Mapping[str, str], *, is_chosen: bool) -> StrategyField:
    preset = own.get(PRESET, "")
    hints = placeholders(each, preset)
    field = EVOLUTION_FIELDS.strategy(each, own, hints, MAIN, is_chosen=is_chosen)
    return field._replace(presets=presets_of(each, preset))


def placeholders(each: Description, preset: str) -> dict[str, str]:
    """What the numbers are if their fields stay empty."""
    usual = {option.name: option.default for option in each.options if is_number(option)}
    said = {name: value for name, value in PRESETS.get(preset, {}).items() if name in usual}
    return {name: option_text(value) or NONE for name, value in {**usual, **said}.items()}


def presets_of(each: Description, chosen: str) -> list[Preset]:
    """Of a strategy that has some. Without one it is standard."""
    if PRESET not in [option.name for option in each.options]:
        return []
    changed = {name for values in PRESETS.values() for name in values}
    names = ["", *(name for name in PRESETS if name != "standard" or chosen == name)]
    found = []
    for name in names:
        hints = {
            f"{EVOLUTION_FIELDS.prefix(each.name)}-{option}": text
            for option, text in placeholders(each, name).items()
            if option in changed
        }
        label = (name or "standard").replace("_", " ").capitalize()
        found.append(Preset(name, label, name == chosen, json.dumps(hints)))
    return found
