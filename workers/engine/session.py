"""A Session plans and absorbs: it asks a strategy for trials and tells it their scores."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from workers.engine.chunks import Work
from workers.engine.overtime import OVERTIME, STRATEGY_SECONDS
from workers.engine.records import ANSWER, CASE, RECORD, Candidate, Score, Trial
from workers.engine.strategies import Rounds, Strategy
from workers.engine.strategies.confirmed import Confirmed

REPLAY_STEP = 10_000  # trials asked again at once, and dropped: a run may have a million
LARGEST_ROUND = 2_000_000  # trials: a run has no more


class Session:
    """One run's strategy with its place in the run. Rebuilt by `replay`, never stored."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._early: dict[int, Score] = {}  # scored, but an earlier trial is not
        self._held: list[Trial] = []  # asked of the strategy, but of nobody else yet
        self._untold: dict[int, Trial] = {}  # asked, of a strategy that learns
        self._begun: Counter[str] = Counter()  # trials of this round, by candidate
        self._disagrees_at: int | None = None  # a score is of another trial than was asked
        self.asked = 0
        self.told = 0
        self._is_exhausted = False

    @property
    def planned(self) -> int | None:
        return self._strategy.planned

    @property
    def learns(self) -> bool:
        """Whether it must be told scores to go on."""
        return self._strategy.learns

    @property
    def hears(self) -> frozenset[str]:
        """What a score must have besides its value when it is absorbed."""
        return self._strategy.hears

    @property
    def candidates(self) -> Sequence[Candidate]:
        """All that the strategy has made, in the order of their birth."""
        return self._strategy.candidates

    @property
    def best(self) -> int | None:
        return self._strategy.best

    @property
    def is_finished(self) -> bool:
        """Everything was asked and everything asked was told."""
        return self._is_exhausted and self.told == self.asked

    @property
    def work(self) -> Work | None:
        """The round under way, of a strategy that decides in rounds."""
        return self._strategy.work if isinstance(self._strategy, Rounds | Confirmed) else None

    @property
    def begun(self) -> int:
        """Candidates of which this round has asked something, of a strategy that learns."""
        return sum(trials > 0 for trials in self._begun.values())

    def _in_time(self) -> AbstractContextManager[object]:
        """A strategy of a plug-in may never come to an end; it runs where all runs are planned."""
        chooser = self._strategy.inner if isinstance(self._strategy, Confirmed) else self._strategy
        if type(chooser).__module__.startswith("workers."):
            return nullcontext()
        seconds = getattr(chooser, "planning_seconds", STRATEGY_SECONDS)
        return OVERTIME.limit(f"The strategy {type(chooser).__name__}", seconds)

    def may_become(self, asked: int) -> bool:
        """Whether a session that asked so much may be this one, later."""
        return self.asked == asked or (self.learns and self.asked < asked)

    def plan(self, limit: int) -> list[Trial]:
        """The next trials to run; empty while a listening strategy waits, or at the end."""
        if not self._held:
            if self._strategy.listens and self.told < self.asked:
                return []
            if self.told == self.asked:
                self._begun.clear()
            with self._in_time():
                self._held = self._strategy.ask(limit)
        trials, self._held = self._held[:limit], self._held[limit:]
        self.asked += len(trials)
        if self.learns:
            self._untold.update((trial.position, trial) for trial in trials)
            self._begun.update(trial.candidate for trial in trials)
        self._is_exhausted = not trials or self.asked == self._strategy.planned
        return trials

    def plan_small(self, most: int) -> list[Trial]:
        """All that can be asked now, if that is at most so much; else nothing, and it waits for
        the next `plan`."""
        trials = self.plan(most + 1)
        if len(trials) <= most:
            return trials
        self._put_back(trials)
        return []

    def open_round(self) -> None:
        """Have the strategy say what its round is, if it can, and ask nothing of it yet."""
        self._put_back(self.plan(LARGEST_ROUND))

    def plan_of(self, candidates: Collection[str], new: int) -> list[Trial]:
        """The next trials, as far as they are of these candidates or of so many others."""
        trials = self.plan(LARGEST_ROUND)
        known, most = set(candidates), len(candidates) + new
        for place, trial in enumerate(trials):
            known.add(trial.candidate)
            if len(known) > most:
                self._put_back(trials[place:])
                return trials[:place]
        return trials

    def _put_back(self, trials: list[Trial]) -> None:
        """What was planned is asked of nobody yet."""
        if not trials:
            return
        self._held = trials + self._held
        self.asked -= len(trials)
        self._begun.subtract(trial.candidate for trial in trials)
        for trial in trials:
            self._untold.pop(trial.position, None)
        self._is_exhausted = False

    def unscored(self) -> set[int]:
        """The positions of the trials that were asked and have no score."""
        return set(range(self.told, self.asked)) - self._early.keys()

    def absorb(self, scores: Iterable[Score]) -> None:
        """Tell the strategy, always in the order of the trials, whatever came back first."""
        self._early.update((score.trial.position, score) for score in scores)
        ready: list[Score] = []
        while (place := self.told + len(ready)) in self._early and place < self.asked:
            if self._untold.get(place, self._early[place].trial) != self._early[place].trial:
                self._disagrees_at = place
                break
            ready.append(self._early.pop(place))
            self._untold.pop(place, None)
        if ready:
            with self._in_time():
                self._strategy.tell(ready)
            self.told += len(ready)

    def absorb_fresh(self, scores: Iterable[Score]) -> None:
        """The same for scores that an executor made."""
        self.absorb([as_told(score, self.hears) for score in scores] if self.learns else scores)

    def replay(self, asked: int, scores: Iterable[Score]) -> None:
        """Bring a fresh session to where another one was: same asks, same tells. It stays behind
        where scores are missing, or are not of the trials that the strategy asks for."""
        history = sorted(scores, key=lambda score: score.trial.position)
        place = 0
        while self.asked < asked and self._disagrees_at is None:
            trials = self.plan(min(asked - self.asked, REPLAY_STEP))
            ahead = place
            while ahead < len(history) and history[ahead].trial.position < self.asked:
                ahead += 1
            if not trials and ahead == place:
                break
            self.absorb(history[place:ahead])
            place = ahead
        self.absorb(history[place:])

    def first_difference(self, asked: int) -> int | None:
        """From which position on a history of so many trials, replayed here, is not what the
        strategy asks for. None: it is, as far as there are scores."""
        if self._disagrees_at is not None:
            return self._disagrees_at
        return self.asked if self.told == self.asked < asked else None


def as_told(score: Score, hears: frozenset[str]) -> Score:
    """A fresh score as a replay will read it: what a strategy learns must not depend on who tells
    it."""
    is_heard = ANSWER in hears
    return Score(
        score.trial,
        value=score.value,
        error=score.error,
        latency_ms=score.latency_ms,
        full_cost=score.full_cost,
        answer=score.answer if is_heard else "",
        judgements=score.judgements if is_heard else (),
        record=score.record if RECORD in hears else None,
        fields=score.fields if CASE in hears else None,
    )
