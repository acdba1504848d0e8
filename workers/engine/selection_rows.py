"""What a choice among combinations has found, combination by combination."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any, NamedTuple

from workers.engine.chunks import Allocation, allocate
from workers.engine.records import Score
from workers.engine.stats import estimate_mean
from workers.engine.strategies import Rounds


class CombinationRow(NamedTuple):
    """One combination. Failures count as wrong in its accuracy."""

    key: str
    name: str
    choices: dict[str, str]
    is_best: bool
    accuracy: float | None
    low: float | None
    high: float | None
    n: int
    failed: int
    latency_ms: float | None  # mean of the answers
    dollars_per_sample: float | None  # None: an answer's price is unknown
    eliminated_in: int | None
    why: str


class RoundRow(NamedTuple):
    number: int
    combinations: int
    cases: int
    trials: int
    split: Allocation  # of the slots: combinations at once x cases of each


def rows_of(strategy: Rounds[Any], scores: Iterable[Score]) -> list[CombinationRow]:
    """The best first, then who saw most, then the more accurate."""
    by_key: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        by_key[score.trial.candidate].append(score)
    best = strategy.best
    rows = [
        row_of(strategy, arm, by_key[candidate.key], is_best=arm == best)
        for arm, candidate in enumerate(strategy.candidates)
    ]
    return sorted(rows, key=lambda row: (not row.is_best, -row.n, -(row.accuracy or 0.0)))


def row_of(
    strategy: Rounds[Any], arm: int, scores: Sequence[Score], *, is_best: bool
) -> CombinationRow:
    candidate, left = strategy.candidates[arm], strategy.eliminations.get(arm)
    values = [score.value or 0.0 for score in scores]
    found = estimate_mean(len(values), sum(values), sum(value * value for value in values))
    answered = [score for score in scores if score.value is not None]
    return CombinationRow(
        key=candidate.key,
        name=candidate.name,
        choices=dict(candidate.document["choices"]),
        is_best=is_best,
        accuracy=found.value if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        n=len(scores),
        failed=len(scores) - len(answered),
        latency_ms=mean_if_known([score.latency_ms for score in answered]),
        dollars_per_sample=mean_if_known([score.full_cost for score in answered]),
        eliminated_in=left.round if left else None,
        why=left.why if left else "",
    )


def rounds_of(strategy: Rounds[Any], max_concurrent: int) -> list[RoundRow]:
    return [
        RoundRow(*record, split=allocate(max_concurrent, record.cases))
        for record in strategy.history
    ]


def mean_if_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def csv_of(rows: Sequence[CombinationRow]) -> str:
    """A line for each combination, its choices in columns of their own."""
    text = StringIO()
    fields = [field for field in CombinationRow._fields if field not in ("key", "choices")]
    steps = list(rows[0].choices) if rows else []
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*fields, *steps])
    for row in rows:
        values = row._asdict()
        writer.writerow([*(values[field] for field in fields), *row.choices.values()])
    return text.getvalue()
