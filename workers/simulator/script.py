"""A script of faults posted by a test: which requests meet what, and how often."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from workers.simulator.faults import FAULTS
from workers.simulator.protocols.exchange import FaultOrder
from workers.simulator.records import Ask

MATCH_KEYS = ("model", "contains", "route")
PARAMETER_TYPES: dict[str, type | tuple[type, ...]] = {
    "status": int,
    "message": str,
    "retry_after": (int, float),
    "answer": str,
    "size_bytes": int,
    "pause_seconds": (int, float),
    "delay_ms": (int, float),
}
ENTRY_KEYS = ("match", "times", "do", *PARAMETER_TYPES)


class ScriptError(ValueError):
    """A script that cannot be played; the message says which entry and what is allowed."""


class Entry:
    """One line of a script: whom it meets, how often it may, and what it does."""

    def __init__(self, match: Mapping[str, str], times: int | None, order: FaultOrder) -> None:
        self._match = match
        self.times_left = times  # None: without end
        self.order = order

    def take(self, ask: Ask, route: str) -> bool:
        """Whether this entry is for the request; uses up one of its times if so."""
        if self.times_left == 0 or not self._matches(ask, route):
            return False
        if self.times_left is not None:
            self.times_left -= 1
        return True

    def _matches(self, ask: Ask, route: str) -> bool:
        match = self._match
        if match.get("model", ask.model) != ask.model or match.get("route", route) != route:
            return False
        wanted = match.get("contains")
        return wanted is None or any(wanted in text for text in (ask.system, *ask.prompts))

    def show(self) -> dict[str, Any]:
        changed = {
            declared.name: getattr(self.order, declared.name)
            for declared in fields(FaultOrder)
            if declared.default is not MISSING
            and getattr(self.order, declared.name) != declared.default
        }
        return {
            "match": dict(self._match),
            "times": self.times_left,
            "do": self.order.name,
            **changed,
        }


class Script:
    """The first entry that fits a request, and has times left, decides."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries

    def order_for(self, ask: Ask, route: str) -> FaultOrder | None:
        return next((entry.order for entry in self.entries if entry.take(ask, route)), None)


def read_script(posted: object) -> Script:
    if not isinstance(posted, list):
        raise ScriptError('A script is a JSON list of entries such as [{"do": "hang"}].')
    return Script([_read_entry(entry, number) for number, entry in enumerate(posted, start=1)])


def _read_entry(entry: object, number: int) -> Entry:
    if not isinstance(entry, dict):
        raise ScriptError(f"Entry {number} must be a JSON object with the key 'do'.")
    _check_keys(entry, ENTRY_KEYS, f"Entry {number}")
    name = entry.get("do")
    if name not in FAULTS:
        raise ScriptError(f"Entry {number} cannot do {name!r}. Choose one of: {', '.join(FAULTS)}.")
    parameters = {key: value for key, value in entry.items() if key in PARAMETER_TYPES}
    for key, value in parameters.items():
        _check_parameter(key, value, number)
    return Entry(
        match=_read_match(entry.get("match", {}), number),
        times=_read_times(entry.get("times", 1), number),
        order=FaultOrder(name, **parameters),
    )


def _read_match(match: object, number: int) -> dict[str, str]:
    if not isinstance(match, dict) or not all(isinstance(value, str) for value in match.values()):
        raise ScriptError(f"'match' of entry {number} must be an object with string values.")
    _check_keys(match, MATCH_KEYS, f"'match' of entry {number}")
    return match


def _read_times(times: object, number: int) -> int | None:
    if times is None:
        return None
    if not isinstance(times, int) or isinstance(times, bool) or times < 1:
        raise ScriptError(f"'times' of entry {number} must be 1 or more, or null for always.")
    return times


def _check_parameter(key: str, value: object, number: int) -> None:
    if isinstance(value, bool) or not isinstance(value, PARAMETER_TYPES[key]):
        raise ScriptError(f"{key!r} of entry {number} has the wrong type: {value!r}.")
    if key == "status" and not 200 <= int(str(value)) <= 599:
        raise ScriptError(f"'status' of entry {number} must be from 200 to 599, not {value}.")
    if isinstance(value, int | float) and not 0 <= value < float("inf"):
        raise ScriptError(f"{key!r} of entry {number} must be 0 or more, not {value}.")


def _check_keys(given: Mapping[str, object], allowed: tuple[str, ...], where: str) -> None:
    unknown = sorted(set(given) - set(allowed))
    if unknown:
        raise ScriptError(
            f"{where} has unknown keys: {', '.join(unknown)}. Allowed: {', '.join(allowed)}."
        )
