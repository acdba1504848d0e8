"""What a leaderboard says of candidates, from their scores added up by case.

Candidates are compared on the same cases. While a run goes on some have seen more than others: they
are then ordered by the cases that all of them have reached, and who has seen less than half of what
the first has comes last: while there is one, nobody has a rank, since the last may be the best.
Whether one is better than another is asked case by case.

A trial that failed is neither right nor wrong: it leaves a score open between "all failed ones are
unsolved" and "all are solved". Ranks go by the lower end, so that failing never helps.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from workers.engine.statistics.bootstrap import bootstrap_sums
from workers.engine.statistics.clusters import Clusters, estimate_clustered, is_share
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.repeats import Alike, count_alike
from workers.engine.statistics.separating import Separation, separate

RANKED_SHARE = 0.5  # of the cases of who has reached most: with less, a rank would be a guess
MOST_DRAWN = 20_000  # cases of all candidates that are drawn 2,000 times each: about half a second

Key = TypeVar("Key", bound=Hashable)


class Tries(Protocol):
    """One candidate on one case, over all repeats."""

    @property
    def n(self) -> int:
        """That have a value."""
        ...

    @property
    def total(self) -> float: ...

    @property
    def passes(self) -> int: ...

    @property
    def done(self) -> int:
        """With those that failed."""
        ...


class Sums(NamedTuple):
    """The same, added up in memory."""

    n: int
    total: float
    passes: int
    done: int

    def plus(self, value: float | None, passed: bool | None) -> "Sums":
        """With one more; None: it failed."""
        if value is None:
            return self._replace(done=self.done + 1)
        return Sums(self.n + 1, self.total + value, self.passes + bool(passed), self.done + 1)


NOTHING_YET = Sums(0, 0.0, 0, 0)


ByCase = Mapping[Hashable, Tries]


class Interval(NamedTuple):
    low: float
    high: float


class Figures(NamedTuple):
    """Of one candidate."""

    reached: int  # cases with a value or a failure
    estimate: Estimate | None  # over all its scores, with an interval for cases like these
    is_share: bool  # all values are 0 or 1: the interval is Wilson's, else Student's
    bootstrap: Interval | None  # of values that are no shares, as far as time allows
    lower_end: float | None  # of what its failed trials leave open: as if they were unsolved
    compared: float | None  # its mean on the cases that all have reached; None: it saw too few
    is_ranked: bool  # it has a score, and all have reached enough cases
    separation: Separation | None  # from the best; None: it is the best, or has no score
    repeats: Sequence[Alike]  # its cases by tries and right ones; empty: nothing is repeated


class Board(NamedTuple, Generic[Key]):
    order: Sequence[Key]  # the best first
    figures: Mapping[Key, Figures]
    common: int  # cases that all who are ranked have reached
    is_even: bool  # all candidates have reached just these

    @property
    def best(self) -> Key | None:
        """Whose score is that of the run."""
        compared = (key for key in self.order if self.figures[key].compared is not None)
        return next(compared, None)


def compare_candidates(
    by_candidate: Mapping[Key, ByCase],
    squares: Mapping[Key, float],
    order: Sequence[Key] | None = None,
    *,
    has_draws: bool = True,
) -> Board[Key]:
    """`squares`: the sums of squared scores. Candidates come in the order that breaks ties; `order`
    where a kind of run says itself who is best. Without draws it is quicker."""
    standing = Standing(by_candidate)
    ranked = standing.ranked if order is None else standing.scored
    ordered = sorted(by_candidate, key=standing.sort_key) if order is None else list(order)
    separations = separate_from_first([key for key in ordered if key in ranked], by_candidate)
    figures: dict[Key, Figures] = {}
    left = MOST_DRAWN if has_draws else 0
    for key in ordered:
        tries = [each for each in by_candidate[key].values() if each.n]
        found = clusters_of(tries, squares.get(key, 0.0))
        is_drawn = bool(tries) and not is_share(found) and len(tries) <= left
        left -= len(tries) if is_drawn else 0
        figures[key] = Figures(
            reached=len(standing.reached[key]),
            estimate=estimate_clustered(found) if tries else None,
            is_share=bool(tries) and is_share(found),
            bootstrap=draw(tries) if is_drawn else None,
            lower_end=standing.lower_end(key) if tries else None,
            compared=standing.mean(key) if key in ranked else None,
            is_ranked=key in ranked and (order is not None or standing.is_ripe),
            separation=separations.get(key),
            repeats=count_alike((each.n, each.passes, each.total / each.n) for each in tries)
            if any(each.done > 1 for each in tries)
            else (),
        )
    return Board(ordered, figures, len(standing.common), standing.is_even)


class Standing(Generic[Key]):
    """Who has reached which cases, and how they stand on those that all have reached."""

    def __init__(self, by_candidate: Mapping[Key, ByCase]) -> None:
        self._by_candidate = by_candidate
        self._places = {key: place for place, key in enumerate(by_candidate)}
        self.reached = {
            key: {case for case, tries in cases.items() if tries.done}
            for key, cases in by_candidate.items()
        }
        self.scored = {
            key for key, cases in by_candidate.items() if any(tries.n for tries in cases.values())
        }
        most = max(map(len, self.reached.values()), default=0)
        late = {k for k, cases in self.reached.items() if len(cases) < RANKED_SHARE * most}
        self.ranked, self.is_ripe = self.scored - late, not late
        self._floor = floor_of(tries for cases in by_candidate.values() for tries in cases.values())
        sets = [self.reached[key] for key in self.ranked]
        self.common: set[Hashable] = set.intersection(*sets) if sets else set()
        self.is_even = all(len(cases) == len(self.common) for cases in self.reached.values())

    def mean(self, key: Key) -> float | None:
        """None: it has no score on the cases that all have reached."""
        tries = self._of_common(key)
        n = sum(each.n for each in tries)
        return math.fsum(each.total for each in tries) / n if n else None

    def sort_key(self, key: Key) -> tuple[bool, float, float, int]:
        """Of equal ones who failed less on the cases that not all have reached yet is first."""
        if key not in self.ranked or self.mean(key) is None:
            return (True, 0.0, 0.0, self._places[key])
        common = lower_end(self._of_common(key), self._floor)
        return (False, -common, -self.lower_end(key), self._places[key])

    def lower_end(self, key: Key) -> float:
        return lower_end(list(self._by_candidate[key].values()), self._floor)

    def _of_common(self, key: Key) -> list[Tries]:
        cases = self._by_candidate[key].items()
        return [tries for case, tries in cases if case in self.common]


def floor_of(tries: Iterable[Tries]) -> float:
    """What an unsolved trial is worth: nothing, or what the worst got where scores are rewards."""
    return min((each.total / each.n for each in tries if each.n and each.total < 0), default=0.0)


def lower_end(tries: Sequence[Tries], floor: float) -> float:
    """Of a score that failed trials leave open."""
    failed = sum(each.done - each.n for each in tries)
    return (math.fsum(each.total for each in tries) + floor * failed) / sum(t.done for t in tries)


def separate_from_first(
    ordered: Sequence[Key], by_candidate: Mapping[Key, ByCase]
) -> dict[Key, Separation]:
    if not ordered:
        return {}
    first, *others = ordered
    return separate(means_of(by_candidate[first]), {k: means_of(by_candidate[k]) for k in others})


def means_of(by_case: ByCase) -> dict[Hashable, float]:
    return {case: tries.total / tries.n for case, tries in by_case.items() if tries.n}


def clusters_of(tries: Sequence[Tries], squares: float) -> Clusters:
    """Of cases that have a score. Without repeats the squares need not be known."""
    n, cases = sum(each.n for each in tries), len(tries)
    total_squares = math.fsum(each.total * each.total for each in tries)
    return Clusters(
        cases=cases,
        n=n,
        total=math.fsum(each.total for each in tries),
        total_squares=total_squares,
        n_squares=math.fsum(each.n * each.n for each in tries),
        products=math.fsum(each.n * each.total for each in tries),
        square_total=total_squares if n == cases else squares,
    )


def draw(tries: Sequence[Tries]) -> Interval:
    found = bootstrap_sums([each.total for each in tries], [each.n for each in tries])
    return Interval(found.low, found.high)
