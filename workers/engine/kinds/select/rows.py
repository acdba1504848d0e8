"""What a choice among combinations has found, combination by combination."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workers.engine.chunks import Allocation, SlotPlan, Work, share_slots
from workers.engine.records import Score
from workers.engine.statistics.clusters import Clusters, estimate_clustered
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.pareto import Point, front_of
from workers.engine.strategies import Rounds
from workers.engine.strategies.board import Sample
from workers.engine.strategies.intervals import Interval


class Tokens(NamedTuple):
    """Of all samples of a combination together, over all its steps."""

    given: int
    received: int


class CombinationRow(NamedTuple):
    """One combination. Failures count as wrong in its accuracy."""

    key: str
    name: str
    choices: dict[str, str]
    place: int  # among the candidates, in the order of the product
    is_best: bool
    accuracy: float | None
    low: float | None  # of the 95 % interval
    high: float | None
    n: int
    failed: int
    latency_ms: float | None  # mean of the answers; cached ones as long as they took once
    dollars_per_sample: float | None  # None: an answer's price is unknown
    tokens: Tokens | None
    bounds: Interval  # the strategy's own, of what it maximises
    saw_most: bool  # as many cases as anybody: only these can be compared
    on_front: bool  # nobody who saw most is better, faster and cheaper at once
    eliminated_in: int | None
    why: str

    @property
    def estimate(self) -> Estimate | None:
        if self.accuracy is None or self.low is None or self.high is None:
            return None
        return Estimate(self.accuracy, self.low, self.high, self.n)

    @property
    def point(self) -> Point:
        return Point(self.accuracy, self.latency_ms, self.dollars_per_sample)


class RoundRow(NamedTuple):
    number: int
    combinations: int
    cases: int
    trials: int
    slots: SlotPlan
    alive: int  # after it

    @property
    def split(self) -> Allocation:
        """Of the slots: combinations at once x cases of each."""
        return self.slots.split


class Most(NamedTuple):
    """How many samples are as many as anybody has."""

    alive: int  # of those in the race
    given_up: int


class Measured(NamedTuple):
    """What some samples say."""

    accuracy: float | None
    low: float | None
    high: float | None
    n: int
    failed: int
    latency_ms: float | None
    dollars_per_sample: float | None


def rows_of(
    strategy: Rounds[Any],
    early: Iterable[Score] = (),
    tokens: Mapping[str, Tokens] | None = None,
) -> list[CombinationRow]:
    """The best first, then who saw most, then the more accurate. `early` are scores that the
    strategy was not told yet, since an earlier trial has none."""
    samples = samples_of(strategy, early)
    most = least_that_is_most(strategy, samples)
    best = best_now(strategy, most.alive)
    rows = [
        row_of(strategy, arm, samples[arm], most, is_best=arm == best)._replace(
            tokens=(tokens or {}).get(candidate.key)
        )
        for arm, candidate in enumerate(strategy.candidates)
    ]
    return sorted(mark_front(rows), key=best_first)


def best_now(strategy: Rounds[Any], least: int) -> int | None:
    """In the middle of a round who happens to be a case ahead is not the leader for it."""
    if not is_under_way(strategy):
        return strategy.best
    return strategy.board.choose([a for a in strategy.alive if strategy.board.count(a) >= least])


def best_first(row: CombinationRow) -> tuple[bool, bool, int, float, float]:
    slowness = float("inf") if row.latency_ms is None else row.latency_ms
    seen = 0 if row.saw_most else row.n  # among those who saw most a case more is no merit
    return (not row.is_best, not row.saw_most, -seen, -(row.accuracy or 0.0), slowness)


def samples_of(strategy: Rounds[Any], early: Iterable[Score]) -> list[list[Sample]]:
    """By arm: what the strategy was told, and what came since."""
    late: dict[str, list[Sample]] = defaultdict(list)
    for score in early:
        late[score.trial.candidate].append(Sample.of(score))
    told = strategy.board.samples
    return [
        told[arm] + late.get(candidate.key, []) for arm, candidate in enumerate(strategy.candidates)
    ]


def least_that_is_most(strategy: Rounds[Any], samples: Sequence[Sequence[Sample]]) -> Most:
    """In the middle of a round those who are a part of it behind are not worse off for it."""
    most = max((len(samples[arm]) for arm in strategy.alive), default=0)
    behind = strategy.history[-1].cases if is_under_way(strategy) else 0
    return Most(alive=max(1, most - behind), given_up=max(1, most))


def is_under_way(strategy: Rounds[Any]) -> bool:
    """Whether some of the newest round was not told yet."""
    opened = sum(record.trials for record in strategy.history)
    return opened > sum(map(len, strategy.board.samples))


def row_of(
    strategy: Rounds[Any], arm: int, samples: Sequence[Sample], most: Most, *, is_best: bool
) -> CombinationRow:
    candidate, left = strategy.candidates[arm], strategy.eliminations.get(arm)
    return CombinationRow(
        key=candidate.key,
        name=candidate.name,
        choices=dict(candidate.document["choices"]),
        place=arm,
        is_best=is_best,
        **measure(samples)._asdict(),
        tokens=None,
        bounds=strategy.board.interval(arm, strategy.options.confidence),
        saw_most=len(samples) >= (most.given_up if left else most.alive),
        on_front=False,
        eliminated_in=left.round if left else None,
        why=left.why if left else "",
    )


def measure(samples: Sequence[Sample]) -> Measured:
    by_case: dict[int, list[float]] = defaultdict(list)
    for sample in samples:
        by_case[sample.case].append(sample.value or 0.0)
    found = estimate_clustered(Clusters.of(by_case.values())) if samples else None
    answered = [sample for sample in samples if sample.value is not None]
    return Measured(
        accuracy=found.value if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        n=len(samples),
        failed=len(samples) - len(answered),
        latency_ms=mean_if_known([sample.latency_ms for sample in answered]),
        dollars_per_sample=mean_if_known([sample.cost for sample in answered]),
    )


def mark_front(rows: Sequence[CombinationRow]) -> list[CombinationRow]:
    """Who is ahead on a few cases only is not compared with who saw them all."""
    points = [row.point if row.saw_most else Point(None, None, None) for row in rows]
    front = set(front_of(points))
    return [row._replace(on_front=place in front) for place, row in enumerate(rows)]


def rounds_of(
    strategy: Rounds[Any], slots: int, share: Callable[[int, Work], SlotPlan] = share_slots
) -> list[RoundRow]:
    """`share` says what a round does with the slots."""
    left = [elimination.round for elimination in strategy.eliminations.values()]
    gone = [0] * (len(strategy.history) + 1)
    for number in left:
        gone[number] += 1
    alive, rounds = len(strategy.candidates), []
    for record in strategy.history:
        alive -= gone[record.number]
        work = Work(record.arms, record.cases, record.trials)
        rounds.append(RoundRow(*record, slots=share(slots, work), alive=alive))
    return rounds


def mean_if_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
