"""What strategies that learn have in common: they ask a round, are told all of it, and decide."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from workers.engine.chunks import Work
from workers.engine.records import Candidate, Score, Trial
from workers.engine.statistics.pareto import front_of
from workers.engine.strategies.board import Board
from workers.engine.strategies.options import Objective, Options

REHEARSED = 2000  # trials: a tenth of a second
OptionsType = TypeVar("OptionsType", bound=Options)


class Pull(NamedTuple):
    """So many more cases for one arm."""

    arm: int
    cases: int


class Elimination(NamedTuple):
    """When a candidate was given up, and why: a line for a person."""

    round: int
    why: str


class RoundRecord(NamedTuple):
    """One round: how many candidates took part, and the most cases of one of them."""

    number: int
    arms: int
    cases: int
    trials: int


class Rounds(ABC, Generic[OptionsType]):
    """Subclasses say what to pull next and what to make of it. An arm is a candidate's number.

    A round is asked whole, however small the pieces it is asked in, and decided on when all of it
    was told, so that neither concurrency nor the order of answers can change a decision.
    """

    learns = True
    hears: frozenset[str] = frozenset()
    label: ClassVar[str] = ""  # as a form names it
    summary: ClassVar[str] = ""  # a line that helps to choose among the strategies
    version: ClassVar[int] = 1
    keeps_front = False  # whether it gives nobody up that the mode pareto would keep
    options_type: ClassVar[type[Options]] = Options

    def __init__(
        self,
        candidates: Sequence[Candidate],
        cases: int,
        repeats: int,
        seed: int,
        options: OptionsType,
        objective: Objective | None = None,
        *,
        by_candidate: bool = False,
    ) -> None:
        self._by_candidate = by_candidate
        self.candidates = list(candidates)
        self.options = options
        self.cases = cases * repeats  # a repeat is one more case: it is sampled like the others
        self.random = Random(seed)
        self.board = Board(len(self.candidates), objective or Objective(), options.failures)
        self.alive = list(range(len(self.candidates)))
        self.eliminations: dict[int, Elimination] = {}
        self.history: list[RoundRecord] = []
        self._places = {candidate.key: arm for arm, candidate in enumerate(self.candidates)}
        self._datasets_cases = cases
        self._order = list(range(self.cases))
        Random(seed).shuffle(self._order)
        self._queue: list[Trial] = []
        self._asked = self._told = 0
        self._is_over = False

    @classmethod
    def options_model(cls) -> type[Options]:
        return cls.options_type

    @classmethod
    def too_many(cls, candidates: int, options: OptionsType) -> str:
        """Why it cannot choose among so many: planning would hold up all runs. Empty: it can."""
        return ""

    @property
    def planned(self) -> int | None:
        """Known only at the end: a decision may need more rounds, or fewer."""
        return self._asked if self._is_over else None

    @property
    def listens(self) -> bool:
        """The rest of a round does not depend on its beginning."""
        return not self._queue

    @property
    def best(self) -> int | None:
        """The arm that wins by what is known now: among those not given up that saw most."""
        most = max(map(self.board.count, self.alive), default=0)
        return self.board.choose([arm for arm in self.alive if self.board.count(arm) == most])

    @property
    def front(self) -> list[int]:
        """The arms that nobody beats in quality, latency and price at once, of those that `best` is
        chosen from. It is one of them."""
        most = max(map(self.board.count, self.alive), default=0)
        arms = [arm for arm in self.alive if self.board.count(arm) == most]
        return [arms[place] for place in front_of([self.board.point(arm) for arm in arms])]

    @property
    def work(self) -> Work | None:
        """The round under way. None before the first one."""
        if not self.history:
            return None
        record = self.history[-1]
        return Work(record.arms, record.cases, record.trials)

    def ask(self, limit: int) -> list[Trial]:
        if not self._queue and self._told == self._asked and not self._is_over and limit > 0:
            self._open_round()
        given, self._queue = self._queue[:limit], self._queue[limit:]
        self._asked += len(given)
        return given

    def tell(self, scores: Sequence[Score]) -> None:
        for score in scores:
            self.board.add(self._places[score.trial.candidate], score)
        self._told += len(scores)
        if self._told == self._asked and not self._queue:
            self.board.settle()
            self.learn()

    @abstractmethod
    def next_pulls(self) -> list[Pull]:
        """The next round. Nothing: the choice is made."""

    def learn(self) -> None:
        """Decide on what the round has shown. Not every strategy does."""

    def pulls(self, arms: Iterable[int], cases: int) -> list[Pull]:
        """So many more cases for each of the arms, as far as there are any."""
        sizes = [(arm, min(cases, self.cases - self.board.count(arm))) for arm in arms]
        return [Pull(arm, size) for arm, size in sizes if size > 0]

    def eliminate(self, reasons: dict[int, str]) -> None:
        """Give arms up, all at once."""
        number = len(self.history)
        self.eliminations |= {arm: Elimination(number, why) for arm, why in reasons.items()}
        self.alive = [arm for arm in self.alive if arm not in reasons]

    def name(self, arm: int) -> str:
        return self.candidates[arm].name

    def _open_round(self) -> None:
        pulls = self.next_pulls()
        pairs = self._within_budget(pulls)
        if not pairs:
            self._is_over = True
            return
        if self._by_candidate:
            pairs.sort(key=lambda pair: pair[0])
        start = self._asked
        self._queue = [self._trial(start + n, *pair) for n, pair in enumerate(pairs)]
        most = max(pull.cases for pull in pulls)
        self.history.append(RoundRecord(len(self.history) + 1, len(pulls), most, len(pairs)))

    def _within_budget(self, pulls: Sequence[Pull]) -> list[tuple[int, int]]:
        """Arm and place of each trial, case by case. The budget cuts behind a case that all arms
        of the round have seen, so that they can still be compared."""
        left = None if self.options.budget is None else self.options.budget - self._asked
        pairs: list[tuple[int, int]] = []
        for step in range(max((pull.cases for pull in pulls), default=0)):
            row = [(arm, self.board.count(arm) + step) for arm, cases in pulls if step < cases]
            if left is not None and len(pairs) + len(row) > left:
                break
            pairs += row
        return pairs

    def _trial(self, position: int, arm: int, place: int) -> Trial:
        repeat, case = divmod(self._order[place], self._datasets_cases)
        return Trial(position, self.candidates[arm].key, case, repeat)


def rehearse(strategy: Rounds[Any], most: int) -> list[int]:
    """Trials of each round, if every answer were a toss: where nobody is better it takes longest.
    Of large ones the beginning is played, and the rest thought to go on like it."""
    toss, played = Random(strategy.cases), 0
    while played < REHEARSED and (trials := strategy.ask(REHEARSED)):
        played += len(trials)
        if not strategy.listens:
            break  # one round is more than is played
        strategy.tell([Score(one, value=float(toss.random() < 0.5)) for one in trials])
    sizes = [record.trials for record in strategy.history]
    if played >= REHEARSED:
        sizes += [sizes[-1]] * max(0, (most - sum(sizes)) // sizes[-1])
    return sizes
