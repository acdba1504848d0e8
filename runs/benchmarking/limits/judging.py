"""Turns what was measured and the provider's ledger into bars. Pure: no run, no clock."""

from collections.abc import Mapping, Sequence
from typing import Any

from runs.benchmarking.limits.bars import Bar, at_least, at_most, exactly
from runs.benchmarking.measuring import Measurement

MINUTE_SECONDS = 60.0
WARM_SECONDS = 5.0  # after the first call: connections are open, the pace is found
MEGABYTE = 1_000_000

LedgerRows = Sequence[Mapping[str, Any]]


def lost(trials: int, *found: Measurement) -> Bar:
    """Trials without a score, of runs that had so many each: failed, or never ended."""
    return exactly("trials lost", 0, sum(trials - each.n + each.failed for each in found))


def ratio(level: int, bar: float, found: Measurement, calls: int = 1) -> Bar:
    """`calls` of each trial, all counted."""
    measured = f"wall / ideal, {level} in flight"
    return at_most(measured, bar, found.wall_seconds / (calls * found.ideal_seconds))


def processor(level: int, bar: float, found: Measurement) -> Bar:
    used = None if found.cpu_seconds is None else 1000 * found.cpu_seconds / found.n
    return at_most(f"CPU of all workers / 1,000 trials, {level} in flight", bar, used, "s")


def throughput(label: str, bar: float, found: Measurement) -> Bar:
    return at_least(f"{label}: speed", bar, found.trials_per_second, "trials/s")


def refused_share(bar: float, found: Measurement) -> Bar:
    share = found.traffic.refused / found.traffic.calls
    return at_most("429s, of all calls", bar, share, "%")


def amplification(bar: float, trials: int, found: Measurement) -> Bar:
    return at_most("calls sent / trials", bar, found.traffic.calls / trials)


def retried_share(bar: float, trials: int, found: Measurement) -> Bar:
    return at_most("retries, of the trials", bar, (found.traffic.calls - trials) / trials, "%")


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


def longest_at_workers(bar_seconds: float, took_ms: Sequence[float]) -> Bar:
    longest = max(took_ms) / 1000 if took_ms else None
    return at_most("longest held slot, at the workers", bar_seconds, longest, "s")


def peak(limit: int, least_share: float, ledger: Mapping[str, Any]) -> list[Bar]:
    highest = ledger["peak_in_flight"]
    return [
        at_most("peak in flight, of all runs and workers", limit, highest),
        at_least("the limit is used", least_share, highest / limit, "%"),
    ]


def calls_of_equal_trials(repeats: int, ledger: Mapping[str, Any]) -> Bar:
    measured = f"calls for {repeats} repeat indices"
    return exactly(measured, repeats, ledger["total"])


def overhead_of_a_round(bar_ms: float, rounds: int, found: Measurement) -> Bar:
    """From creation to end, beyond the calls, which follow each other."""
    beyond_ms = 1000 * found.wall_seconds - rounds * found.latency_ms
    return at_most("a round beyond its call", bar_ms, beyond_ms / rounds, "ms")


def growth(who: str, bar_megabytes: float, before: int | None, highest: int | None) -> Bar:
    grown = None if before is None or highest is None else (highest - before) / MEGABYTE
    return at_most(f"growth of RSS, {who}", bar_megabytes, grown, "MB")
