"""Which runs and candidates are compared, as a person writes it, for the page, the API and the
command alike: `118` is a run, `118:3` its candidate at position 3, `last` the run before."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from runs.access import get_run_for, runs_for
from runs.models import Run
from runs.roles import Person
from runs.selectors.comparing.sides import Side, sides_of
from runs.selectors.runs.baselines import newest_like
from workers.engine.errors import EngineError

MOST_COMPARED = 10  # more columns than this nobody reads
LARGEST_ID = 2**63 - 1
LAST = "last"
PATTERN = r"[0-9]{1,19}(:[0-9]{1,9})?"
_WRITTEN = re.compile(rf"{PATTERN}\Z")
NO_LAST = "There is no complete run of this name with the same scorers before it."


class ComparedError(EngineError):
    """What was named cannot be compared. Says what can."""


class Compared(NamedTuple):
    run: int
    candidate: int | None  # its position; None: the whole run

    def __str__(self) -> str:
        return str(self.run) if self.candidate is None else f"{self.run}:{self.candidate}"


def read_compared(text: str) -> Compared:
    if not _WRITTEN.match(text):
        raise ComparedError(
            f"{text[:40]!r} names nothing to compare. Write a run as 118, or one of its "
            "candidates by its position, as 118:3."
        )
    run, _, candidate = text.partition(":")
    if int(run) > LARGEST_ID:
        raise ComparedError(f"There is no run {run}.")
    return Compared(int(run), int(candidate) if candidate else None)


def read_others(text: str) -> list[Compared]:
    """Separated by commas; the same one twice counts once."""
    return list(dict.fromkeys(read_compared(one) for one in text.split(",")))


class Chosen(NamedTuple):
    """What is compared, the base first, with the runs that they are of."""

    compared: list[Compared]
    runs: dict[int, Run]

    def sides(self) -> list[Side]:
        return sides_of([(self.runs[one.run], one.candidate) for one in self.compared])


def find_compared(user: Person, base: str, others: Sequence[Compared]) -> Chosen:
    """Those that the person may see; else 404. ComparedError when they are not 2 to 10."""
    if not 1 <= len(others) < MOST_COMPARED:
        raise ComparedError(f"Name a base and 1 to {MOST_COMPARED - 1} others to compare with it.")
    named = [read_compared(base)] if base != LAST else []
    runs = {number: get_run_for(user, number) for number in {one.run for one in [*named, *others]}}
    if base == LAST:
        last = last_before(user, runs[others[0].run])
        if last is None:
            raise ComparedError(NO_LAST)
        runs[last.pk] = last
        named = [Compared(last.pk, None)]
    return Chosen([*named, *others], runs)


def last_before(user: Person, run: Run) -> Run | None:
    """What a run is compared with when nobody says with what."""
    return newest_like(runs_for(user).select_related("dataset"), run.document, run.pk)
