"""What was made of runs that were looked at, kept until something of them changes.

A page asks again every second, and mostly nothing has changed.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

from runs.models import Run

WARM = 8  # runs
Made = TypeVar("Made")


class Warm(Generic[Made]):
    """`stamp` says whether a run is as it was; without it, what was made never changes."""

    def __init__(
        self, make: Callable[[Run], Made], stamp: Callable[[Run], Any] = lambda run: None
    ) -> None:
        self._make = make
        self._stamp = stamp
        self._kept: OrderedDict[Any, tuple[Any, Made]] = OrderedDict()
        self._lock = Lock()  # web processes answer in threads

    def of(self, run: Run) -> Made:
        """By the moment of its launch, too: a database that is emptied gives its numbers again."""
        place, stamp = (run.pk, run.created), self._stamp(run)
        with self._lock:
            known = self._kept.get(place)
        if known is not None and known[0] == stamp:
            return known[1]
        made = self._make(run)
        with self._lock:
            self._kept[place] = (stamp, made)
            self._kept.move_to_end(place)
            while len(self._kept) > WARM:
                self._kept.popitem(last=False)
        return made


def standing_of(run: Run) -> tuple[Any, ...]:
    """Another one when a trial of any role was recorded, and when the run went on or ended."""
    told = (run.told("done"), run.told("failed"))
    return (run.done, run.failed, run.asked, run.state, run.ended, *told)
