"""Which of several later steps a router's answer picks."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workers.engine.errors import NoRoute
from workers.engine.scorers.base import quote


def routed_steps(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    """The steps that run only when a router picks them."""
    return {target for step in steps for target in targets_of(step)}


def targets_of(step: Mapping[str, Any]) -> list[str]:
    default = [step["default"]] if step.get("default") else []
    return [*step.get("routes", {}).values(), *default]


def pick_route(step: Mapping[str, Any], answer: str) -> str:
    """The step that runs next. An answer is a route's word, or has the words of one step's
    routes in it and no other's; else it is the default's, or an error."""
    routes: Mapping[str, str] = step["routes"]
    plain = normal(answer)
    said = {target for word, target in routes.items() if normal(word) == plain}
    said = said or {target for word, target in routes.items() if is_in(normal(word), plain)}
    if len(said) == 1:
        return said.pop()
    if step["default"]:
        return str(step["default"])
    told = "names several of its routes" if said else "names none of its routes"
    raise NoRoute(
        f"The answer of {step['name']} {told} ({', '.join(routes)}): {quote(answer)}. "
        "It has no default."
    )


def normal(text: str) -> str:
    """Without capitals and without what stands around words, as in **Easy.**"""
    return " ".join(re.findall(r"[^\W_]+", text.casefold())) or text.strip()


def is_in(word: str, text: str) -> bool:
    """As whole words."""
    return f" {word} " in f" {text} "
