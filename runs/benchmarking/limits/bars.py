"""A bar: what was measured, how it has to be, and whether it is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import eq, ge, le
from typing import Any, Literal, NamedTuple

Sense = Literal["<=", ">=", "="]
COMPARE: dict[Sense, Callable[[float, float], bool]] = {"<=": le, ">=": ge, "=": eq}


@dataclass(frozen=True)
class Bar:
    """`value` is None where it could not be measured; then the bar is not met."""

    measured: str
    sense: Sense
    bar: float
    value: float | None
    unit: str = ""

    @property
    def is_met(self) -> bool:
        return self.value is not None and COMPARE[self.sense](self.value, self.bar)

    def as_document(self) -> dict[str, Any]:
        value = None if self.value is None else round(self.value, 4)
        return {
            "measured": self.measured,
            "bar": f"{self.sense} {show(self.bar, self.unit)}",
            "limit": self.bar,
            "value": value,
            "shown": show(self.value, self.unit),
            "met": self.is_met,
        }


class Outcome(NamedTuple):
    """What a row found, and on what it was measured."""

    bars: list[Bar]
    conditions: str


def at_most(measured: str, bar: float, value: float | None, unit: str = "") -> Bar:
    return Bar(measured, "<=", bar, value, unit)


def at_least(measured: str, bar: float, value: float | None, unit: str = "") -> Bar:
    return Bar(measured, ">=", bar, value, unit)


def exactly(measured: str, bar: float, value: float | None, unit: str = "") -> Bar:
    return Bar(measured, "=", bar, value, unit)


def show(value: float | None, unit: str) -> str:
    """As in 1.05, 5,000 trials/s, 99.2 %."""
    if value is None:
        return "–"
    if unit == "%":
        return f"{100 * value:.4g} %"
    number = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.4g}"
    return f"{number} {unit}".strip()


def are_met(rows: Iterable[dict[str, Any]]) -> bool:
    """Of rows as they are reported: measured, and every bar met."""
    return all(row["met"] for row in rows)
