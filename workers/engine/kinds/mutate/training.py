"""The strategy of a mutation: an update asks for a segment of every environment, learns from their
records, and bears the next policy. At the end, policies are compared on held-out queries.

A function of configuration, seed and history, so that a replay comes to the same weights.
"""

from collections.abc import Generator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from workers.engine.json_text import digest
from workers.engine.kinds.mutate.learners import Bandit, Learner, always
from workers.engine.kinds.mutate.segments import Sample, samples_in
from workers.engine.records import EVALUATE, RECORD, Candidate, Score, Trial
from workers.engine.strategies.confirmed import CaseSplit

if TYPE_CHECKING:
    from workers.engine.kinds.mutate import Mutation

HELD_OUT = "held_out"  # the role of segments on queries that no policy was trained on
UNIFORM, UCB = "uniform", "ucb"
Asking = Generator[list[Trial], None, None]


class Training:
    learns = True
    hears = frozenset({RECORD})
    best = None  # its policies follow each other: the last one is compared with others

    def __init__(self, configuration: "Mutation", split: CaseSplit) -> None:
        options, names = configuration.options, [one.name for one in configuration.operators]
        self._configuration, self._options, self._split = configuration, options, split
        self._name, self._actions = configuration.strategy.name, len(names)
        self._learner: Learner[Any] = configuration.open_learner()
        self._bandit = Bandit(len(names), exploration=1.0)  # the baseline sees what is seen
        self._order = order_of(split.ranked, configuration.seed)
        self._samples: dict[int, list[Sample]] = {}  # by position, of the update under way
        self._queue: list[Trial] = []
        self._asked = 0
        self._is_over = False
        self.candidates: list[Candidate] = []
        self._bear_policy(1, None)
        self._life = self._live()

    @property
    def planned(self) -> int | None:
        """Not told before the end: what the last update learnt is born after its last trial, even
        where nothing is held out."""
        return self._asked if self._is_over else None

    @property
    def listens(self) -> bool:
        return not self._queue

    def ask(self, limit: int) -> list[Trial]:
        if not self._queue:
            self._queue = next(self._life, [])
        given, self._queue = self._queue[:limit], self._queue[limit:]
        return given

    def tell(self, scores: Sequence[Score]) -> None:
        for score in scores:
            if score.record is not None:
                self._samples[score.trial.position] = samples_in(score.record)

    def _live(self) -> Asking:
        updates, learned = self._options.count_updates, None
        for update in range(1, updates + 1):
            if update > 1:  # the first one was there at the launch
                self._bear_policy(update, learned)
            yield self._numbered(self.candidates[-1], self._cases_of(update))
            segments = [self._samples[position] for position in sorted(self._samples)]
            self._samples = {}
            for samples in segments:
                self._bandit.add(samples)
            learned = self._learner.learn(segments, (update - 1) / updates)
        yield from self._compare(updates + 1, learned)

    def _compare(self, update: int, learned: dict[str, Any] | None) -> Asking:
        """What was learnt stands first: its figures are those of the last update, which is kept
        even where nothing is held out."""
        rivals = {self._name: self._learner.settled()}
        rivals.setdefault(UNIFORM, {"shares": [1.0 / self._actions] * self._actions})
        rivals.setdefault(UCB, always(self._bandit.best(), self._actions))
        trials: list[Trial] = []
        for name, policy in rivals.items():
            figures = learned if name == self._name else None
            one = self._bear(name, update, policy, figures, HELD_OUT)
            trials += self._numbered(one, self._split.held_out, environments=self._split.held_out)
        yield trials
        self._is_over = True

    def _cases_of(self, update: int) -> list[int]:
        """The next queries of those to learn from, and the first again after the last."""
        count = self._options.num_processes
        start = (update - 1) * count
        return [self._order[place % len(self._order)] for place in range(start, start + count)]

    def _bear_policy(self, update: int, learned: dict[str, Any] | None) -> None:
        self._bear(f"update {update}", update, self._learner.policy(), learned)

    def _bear(
        self,
        name: str,
        update: int,
        policy: dict[str, Any],
        learned: dict[str, Any] | None,
        role: str = EVALUATE,
    ) -> Candidate:
        """`learned`: what the update before it came to."""
        document = {
            "update": update,
            "policy": policy,
            "weights": self._learner.digest(),
            "learned": learned,
            "rules": self._configuration.rules_of(role),
            "models": self._configuration.models_of_segments,
        }
        candidate = Candidate(digest([name, document])[:16], name, document, role)
        self.candidates.append(candidate)
        return candidate

    def _numbered(
        self, candidate: Candidate, cases: Sequence[int], environments: Sequence[int] | None = None
    ) -> list[Trial]:
        """The repeat of a trial is the number of its environment."""
        start, self._asked = self._asked, self._asked + len(cases)
        places = range(len(cases)) if environments is None else environments
        return [
            Trial(start + number, candidate.key, case, place)
            for number, (case, place) in enumerate(zip(cases, places, strict=True))
        ]


def order_of(cases: Sequence[int], seed: int) -> list[int]:
    shuffled = list(cases)
    Random(f"{seed} queries").shuffle(shuffled)
    return shuffled
