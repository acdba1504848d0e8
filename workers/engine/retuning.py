"""Which limits a person may change while a run goes on, by the same rules as at its start."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.problems import explain
from workers.engine.spec import (
    Concurrency,
    Configuration,
    PriorityName,
    RequestRate,
    Strict,
    TokenRate,
)


class LimitChanges(Strict):
    """Only what is given is changed, so the defaults are never used. Null lifts a rate."""

    max_concurrent: Concurrency = 1
    requests_per_minute: RequestRate | None = None
    tokens_per_minute: TokenRate | None = None
    priority: PriorityName = "normal"


def read_limit_changes(changes: Any) -> dict[str, Any]:
    """The changes as they are stored, or ConfigurationError with every problem."""
    if not isinstance(changes, Mapping):
        allowed = ", ".join(LimitChanges.model_fields)
        raise ConfigurationError([Problem("", f"Give a mapping of limits: {allowed}.")])
    try:
        return LimitChanges.model_validate(changes).model_dump(exclude_unset=True)
    except ValidationError as error:
        raise ConfigurationError(explain(error, LimitChanges)) from None


def retune(
    configuration: Configuration, changes: Mapping[str, Any], priority: str
) -> Configuration:
    """The configuration as it holds now: as launched, with what was changed since."""
    limits = configuration.limits.model_copy(update=dict(changes))
    return configuration.model_copy(update={"limits": limits, "priority": priority})
