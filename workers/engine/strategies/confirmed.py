"""Guards against the winner's curse: who is best of many was lucky, too, on the cases it was chosen
by. So some cases are held out, and the best is scored again on those when all else is done."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple, Protocol, runtime_checkable

from workers.engine.chunks import Work
from workers.engine.json_text import digest
from workers.engine.records import CONFIRM, EVALUATE, Candidate, Score, Trial
from workers.engine.strategies import Strategy
from workers.engine.strategies.rounds import Rounds


class CaseSplit(NamedTuple):
    """The numbers of a run's cases, in order."""

    ranked: Sequence[int]  # those that candidates are tried on and ranked by
    held_out: Sequence[int]


def split_cases(cases: int, held_out: int, seed: int) -> CaseSplit:
    """By digests, never by a random generator: the same split with every version of Python."""
    drawn = sorted(range(cases), key=lambda case: sha256(b"held out:%d:%d" % (seed, case)).digest())
    return CaseSplit(sorted(drawn[held_out:]), sorted(drawn[:held_out]))


def confirmation_of(best: Candidate) -> Candidate:
    """The same, as a candidate of its own: what it does on held-out cases is counted apart."""
    name = f"{best.name} (held-out cases)"
    return Candidate(confirmation_key(best.key), name, best.document, CONFIRM)


def confirmation_key(best: str) -> str:
    return digest({"confirms": best})[:16]


@runtime_checkable
class Challenged(Protocol):
    """A strategy whose best must beat something on the held-out cases, too."""

    @property
    def rival(self) -> int | None:
        """The place of the candidate to beat, such as the best of those it began with."""
        ...


class Sums:
    """What a candidate has come to on the cases that it is ranked by."""

    def __init__(self) -> None:
        self.total, self.lowest, self.scored, self.done = 0.0, 0.0, 0, 0

    def add(self, value: float | None) -> None:
        self.done += 1
        if value is not None:
            self.scored += 1
            self.total += value
            self.lowest = min(self.lowest, value)

    def worth(self, floor: float) -> tuple[float, float]:
        """As a leaderboard ranks: by the lower end of what failed trials leave open."""
        failed = self.done - self.scored
        return (self.total + floor * failed) / self.done, self.total / self.scored


class Confirmed:
    """Another strategy on the ranked cases; then its best on those held out. It learns, also where
    the other one does not: it has to know who is best. Trials are numbered in the order in which
    they are asked, so that what is planned is always a beginning of what is asked."""

    learns = True

    def __init__(self, inner: Strategy, split: CaseSplit, repeats: int) -> None:
        self._inner = inner
        self._split = split
        self._repeats = repeats
        self._numbers = {case: number for number, case in enumerate(split.ranked)}
        self._sums: dict[str, Sums] = {}
        self._confirmations: list[Candidate] = []  # of the best, then of its rival
        self._queue: list[Trial] = []
        self._asked = self._told = 0
        self._is_inner_done = False

    @property
    def inner(self) -> Strategy:
        return self._inner

    @property
    def hears(self) -> frozenset[str]:
        return self._inner.hears

    @property
    def candidates(self) -> Sequence[Candidate]:
        return [*self._inner.candidates, *self._confirmations]

    @property
    def planned(self) -> int | None:
        """Known when the best is: if nobody has a score, nothing is confirmed."""
        return self._asked + len(self._queue) if self._is_inner_done else None

    @property
    def listens(self) -> bool:
        """When the other strategy has asked for everything, all of it decides who is best."""
        if self._is_inner_done:
            return False
        return self._inner.listens or self._inner.planned == self._asked

    @property
    def work(self) -> Work | None:
        """The round under way, if the other strategy decides in rounds."""
        is_in_rounds = isinstance(self._inner, Rounds) and not self._is_inner_done
        return self._inner.work if is_in_rounds else None  # type: ignore[attr-defined]

    @property
    def best(self) -> int | None:
        """Who the other strategy chooses; if it leaves that to people, the first of the board."""
        chosen = self._inner.best
        return self._first_by_score() if chosen is None else chosen

    def ask(self, limit: int) -> list[Trial]:
        if not self._is_inner_done:
            if trials := self._inner.ask(limit):
                return self._as_asked(trials)
            if self._told < self._asked:
                return []  # it waits, or it is done and not all is known
            self._confirm()
        given, self._queue = self._queue[:limit], self._queue[limit:]
        self._asked += len(given)
        return given

    def tell(self, scores: Sequence[Score]) -> None:
        self._told += len(scores)
        if self._is_inner_done:
            return  # nothing depends on what became of the best
        for score in scores:
            self._sums.setdefault(score.trial.candidate, Sums()).add(score.value)
        if self._inner.learns:
            self._inner.tell([self._as_told(score) for score in scores])

    def _as_asked(self, trials: Sequence[Trial]) -> list[Trial]:
        start, ranked = self._asked, self._split.ranked
        self._asked += len(trials)
        return [
            trial._replace(position=start + place, case=ranked[trial.case])
            for place, trial in enumerate(trials)
        ]

    def _as_told(self, score: Score) -> Score:
        trial = score.trial._replace(case=self._numbers[score.trial.case])
        return replace(score, trial=trial)

    def _confirm(self) -> None:
        self._is_inner_done = True
        rival = self._inner.rival if isinstance(self._inner, Challenged) else None
        if self.best is None:
            return
        places = [self.best] if rival is None else list(dict.fromkeys([self.best, rival]))
        self._confirmations = [confirmation_of(self._inner.candidates[place]) for place in places]
        wanted = [
            (one.key, case, repeat)
            for repeat in range(self._repeats)
            for case in self._split.held_out
            for one in self._confirmations
        ]
        self._queue = [Trial(self._asked + n, *one) for n, one in enumerate(wanted)]

    def _first_by_score(self) -> int | None:
        places = {
            candidate.key: place
            for place, candidate in enumerate(self._inner.candidates)
            if candidate.role == EVALUATE
        }
        able = [key for key, sums in self._sums.items() if sums.scored and key in places]
        if not able:
            return None
        floor = min(sums.lowest for sums in self._sums.values())

        def order(key: str) -> tuple[float, float, int]:
            lower, value = self._sums[key].worth(floor)
            return -lower, -value, places[key]

        return places[min(able, key=order)]
