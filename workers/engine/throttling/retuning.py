"""Which limits a person may change while a run goes on, by the same rules as at its start."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.configuration import (
    Budget,
    Concurrency,
    Configuration,
    PriorityName,
    RequestRate,
    Strict,
    TokenRate,
)
from workers.engine.spec.problems import explain

BUDGET = "budget."  # how the names of its changes begin


class LimitChanges(Strict):
    """Only what is given is changed, so the defaults are never used. Null lifts a limit."""

    max_concurrent: Concurrency | None = None
    requests_per_minute: RequestRate | None = None
    tokens_per_minute: TokenRate | None = None
    priority: PriorityName = "normal"
    budget: Budget = Budget()


def read_limit_changes(changes: Any) -> dict[str, Any]:
    """The changes as they are stored, those of the budget as `budget.calls`; or
    ConfigurationError with every problem."""
    if not isinstance(changes, Mapping):
        allowed = ", ".join(LimitChanges.model_fields)
        raise ConfigurationError([Problem("", f"Give a mapping of limits: {allowed}.")])
    try:
        read = LimitChanges.model_validate(changes).model_dump(exclude_unset=True)
    except ValidationError as error:
        raise ConfigurationError(explain(error, LimitChanges)) from None
    budget = read.pop("budget", {})
    return {**read, **{f"{BUDGET}{name}": total for name, total in budget.items()}}


def flatten(configuration: Configuration) -> dict[str, Any]:
    """Everything that can be changed, as it holds, by the names of the changes."""
    budget = {f"{BUDGET}{name}": total for name, total in configuration.budget}
    return {**configuration.limits.model_dump(), "priority": configuration.priority, **budget}


def change_budget(budget: Budget, changes: Mapping[str, Any]) -> Budget:
    update = {n.removeprefix(BUDGET): v for n, v in changes.items() if n.startswith(BUDGET)}
    return budget.model_copy(update=update)


def retune(
    configuration: Configuration, changes: Mapping[str, Any], priority: str
) -> Configuration:
    """The configuration as it holds now: as launched, with what was changed since."""
    of_limits = {n: value for n, value in changes.items() if not n.startswith(BUDGET)}
    limits = configuration.limits.model_copy(update=of_limits)
    budget = change_budget(configuration.budget, changes)
    return configuration.model_copy(
        update={"limits": limits, "priority": priority, "budget": budget}
    )
