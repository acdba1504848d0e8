"""What a choice among combinations has found: by replay of what is stored, at any time."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from runs.models import Run
from runs.selectors.limits import configuration_now
from runs.selectors.stored_history import stored_history
from workers.engine.chunks import Allocation, allocate
from workers.engine.kinds import open_selection
from workers.engine.records import Score
from workers.engine.session import Session
from workers.engine.spec import Selection
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


@dataclass(frozen=True)
class SelectionReport:
    strategy: str
    rows: list[CombinationRow]  # the best first, then by data and accuracy
    rounds: list[RoundRow]
    evaluations: int
    brute_force: int
    dollars: float
    seconds: float | None

    @property
    def alive(self) -> int:
        return sum(row.eliminated_in is None for row in self.rows)

    @property
    def saved_share(self) -> float:
        """Of what trying everything would have taken."""
        return 1 - self.evaluations / self.brute_force if self.brute_force else 0.0


def selection_of(run: Run) -> SelectionReport:
    configuration = configuration_now(run)
    assert isinstance(configuration, Selection)  # the caller has looked at the kind
    scores = stored_history(run)
    strategy = open_selection(configuration, run.dataset.rows)
    Session(strategy).replay(run.asked, scores)
    ended = run.ended or run.started
    return SelectionReport(
        strategy=configuration.strategy.name,
        rows=rows_of(strategy, scores),
        rounds=rounds_of(strategy, configuration.limits.max_concurrent),
        evaluations=len(scores),
        brute_force=configuration.candidates * run.dataset.rows * configuration.repeats,
        dollars=run.cost,
        seconds=run.running_seconds(ended) if ended else None,
    )


def rows_of(strategy: Rounds[Any], scores: Sequence[Score]) -> list[CombinationRow]:
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
        dollars_per_sample=mean_if_known([score.cost for score in answered]),
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
