"""Strategies of runs that were looked at, kept where they stand.

A page asks again every second, so a strategy is told only what came since; unless something that it
was told was taken back: then all is replayed.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from django.db.models import Count, Max

from runs.models import Run
from runs.selectors.runs.stored_history import stored_history
from workers.engine.records import Score
from workers.engine.session import Session
from workers.engine.strategies import Strategy

WARM = 8  # runs; some megabytes each with tens of thousands of scores
Known = TypeVar("Known", bound=Strategy)


class Told(NamedTuple):
    """The scores of the trials that a strategy was told of, as they are stored."""

    rows: int
    newest: int | None  # what is scored anew gets a greater number


NOTHING_TOLD = Told(0, None)


@dataclass
class Followed(Generic[Known]):
    """A run's strategy as far as it was read, and what was made of it at that moment."""

    begin: Callable[[], Known]
    strategy: Known
    session: Session
    lock: Lock
    told: Told = NOTHING_TOLD
    asked_for: tuple[Any, ...] = ()
    report: Any = None

    def reported(self, make: Callable[[], Any], *asked_for: Any) -> Any:
        """What `make` gives, made anew only when something that was asked for is another."""
        with self.lock:
            if self.report is None or self.asked_for != asked_for:
                self.report, self.asked_for = make(), asked_for
            return self.report

    def read_on(self, run: Run) -> list[Score]:
        """Tell it what came since. Gives the scores that wait for an earlier one."""
        if self.session.asked > run.asked or self.told != told_of(run, self.session.told):
            self.strategy = self.begin()
            self.session = Session(self.strategy)
        history = stored_history(run, self.session.told, self.session.hears)
        # The run was read before its scores: there may be some of a round that it does not know.
        news = [score for score in history if score.trial.position < run.asked]
        self.session.replay(run.asked, news)
        self.told = told_of(run, self.session.told)
        return [score for score in news if score.trial.position >= self.session.told]


_warm: OrderedDict[tuple[int, datetime], Followed[Any]] = OrderedDict()  # a cache: else a replay
_warm_lock = Lock()


def follow(run: Run, begin: Callable[[], Known]) -> Followed[Known]:
    """By the moment of its launch, too: a database that is emptied gives its numbers again."""
    key = (run.pk, run.created)
    with _warm_lock:
        followed = _warm.pop(key, None) or begun(begin)
        _warm[key] = followed
        while len(_warm) > WARM:
            _warm.popitem(last=False)
        return followed


def begun(begin: Callable[[], Known]) -> Followed[Known]:
    strategy = begin()
    return Followed(begin, strategy, Session(strategy), Lock())


def told_of(run: Run, told: int) -> Told:
    found = run.scores.filter(position__lt=told).aggregate(rows=Count("pk"), newest=Max("pk"))
    return Told(**found)
