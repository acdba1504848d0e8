"""A bar: what was measured, how it has to be, and whether it is; and what measurements and the
provider's ledger come to. Pure: no run, no clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq, ge, le
from typing import Any, Literal, NamedTuple

from runs.benchmarking.measuring import Measurement

Sense = Literal["<=", ">=", "="]
COMPARE: dict[Sense, Callable[[float, float], bool]] = {"<=": le, ">=": ge, "=": eq}
MINUTE_SECONDS = 60.0
WARM_SECONDS = 5.0  # after the first call: connections are open, the pace is found

LedgerRows = Sequence[Mapping[str, Any]]


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
        return {
            "measured": self.measured,
            "bar": f"{self.sense} {show(self.bar, self.unit)}",
            "value": None if self.value is None else round(self.value, 4),
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


def lost(trials: int, *found: Measurement) -> Bar:
    """Trials without a score, of runs that had so many each: failed, or never ended."""
    return exactly("trials lost", 0, sum(trials - each.n + each.failed for each in found))


def ratio(level: int, bar: float, found: Measurement, calls: int = 1) -> Bar:
    """`calls` of each trial, all counted."""
    measured = f"wall / ideal, {level} in flight"
    return at_most(measured, bar, found.wall_seconds / (calls * found.ideal_seconds))


def refused_share(bar: float, found: Measurement) -> Bar:
    share = found.traffic.refused / found.traffic.calls
    return at_most("429s, of all calls", bar, share, "%")


def used_share(what: str, bar: float, per_minute: int, rows: LedgerRows) -> Bar:
    """How much of a minute's quota was used, from the time it is warm to the last call.

    Calls are spread evenly, so that a part of a minute tells as much as many minutes. What
    several hundred calls a minute do in their first seconds is the start of the run, not its pace.
    """
    accepted = [row for row in rows if row["accepted"]]
    measured = f"quota of {per_minute:,} {what} a minute used, once warm"
    if not accepted:
        return at_least(measured, bar, None, "%")
    first, last = accepted[0]["arrival"] + WARM_SECONDS, accepted[-1]["arrival"]
    if last <= first:
        return at_least(measured, bar, None, "%")
    amounts = [amount_of(what, row) for row in accepted if first <= row["arrival"] < last]
    return at_least(measured, bar, sum(amounts) * MINUTE_SECONDS / (last - first) / per_minute, "%")


def amount_of(what: str, row: Mapping[str, Any]) -> int:
    if what == "requests":
        return 1
    used: int = row["tokens_in"] + row["tokens_out"]
    return used


def longest_at_provider(bar_seconds: float, rows: LedgerRows) -> Bar:
    """A call that never ended holds its slot for ever: it cannot be told how long."""
    lengths = [None if row["end"] is None else row["end"] - row["arrival"] for row in rows]
    measured = "longest call, at the provider"
    if not lengths or None in lengths:
        return at_most(measured, bar_seconds, None, "s")
    return at_most(measured, bar_seconds, max(filter(None, lengths)), "s")
