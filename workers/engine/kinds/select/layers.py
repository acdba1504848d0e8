"""Combinations that were given up saw fewer cases: one table for each number of cases, so that all
in it are compared on the same ones."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from workers.engine.kinds.select.rows import Measured, measure
from workers.engine.strategies import Rounds

MOST_ROWS = 10_000  # of all layers: thousands of combinations may differ in what they saw


class LayerRow(NamedTuple):
    key: str
    name: str
    measured: Measured
    is_best: bool  # only ever in the last layer


class Layer(NamedTuple):
    """Everybody who saw so many cases, measured on the first n of them."""

    n: int
    rows: list[LayerRow]  # the more accurate first, then the faster
    eliminated: list[str]  # names of those who saw no more than these


def layers_of(strategy: Rounds[Any]) -> list[Layer]:
    """One for each number of cases, the fewest first. Empty when all saw equally many: then the
    plain table says it all. Where nearly everybody saw another number, the last ones."""
    counts = [strategy.board.count(arm) for arm in range(len(strategy.candidates))]
    steps = sorted({count for count in counts if count})
    if len(steps) < 2:
        return []
    return list(each_layer(strategy, counts, last_steps(steps, counts)))


def last_steps(steps: Sequence[int], counts: Sequence[int]) -> list[int]:
    """As many of the last numbers as keep the layers within bounds, at least two."""
    kept: list[int] = []
    rows = 0
    for n in reversed(steps):
        rows += sum(count >= n for count in counts)
        if rows > MOST_ROWS and len(kept) >= 2:
            break
        kept.append(n)
    return kept[::-1]


def each_layer(
    strategy: Rounds[Any], counts: Sequence[int], steps: Sequence[int]
) -> Iterator[Layer]:
    best = strategy.best
    for n in steps:
        is_last = n == steps[-1]
        rows = [
            layer_row(strategy, arm, n, is_best=is_last and arm == best)
            for arm, count in enumerate(counts)
            if count >= n
        ]
        gone = [strategy.name(arm) for arm, count in enumerate(counts) if count == n]
        yield Layer(n, sorted(rows, key=better_first), [] if is_last else gone)


def layer_row(strategy: Rounds[Any], arm: int, n: int, *, is_best: bool) -> LayerRow:
    candidate = strategy.candidates[arm]
    found = measure(strategy.board.samples[arm][:n])
    return LayerRow(candidate.key, candidate.name, found, is_best)


def better_first(row: LayerRow) -> tuple[float, float]:
    latency = row.measured.latency_ms
    return (-(row.measured.accuracy or 0.0), float("inf") if latency is None else latency)
