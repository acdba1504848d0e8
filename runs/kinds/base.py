"""What the site needs of a kind of run. What most kinds do alike stands here; a kind changes what
is its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from django.db.models import QuerySet
from ninja import Router
from rich.table import Table

from runs.kinds.section import FormSection
from runs.models import Candidate, Run
from runs.reports.report import CandidateLine
from runs.selectors.runs.leaderboard import by_score, leaderboard
from workers.engine.records import EVALUATE, Score
from workers.engine.spec.configuration import Configuration
from workers.engine.statistics.intervals import Estimate


class Board(NamedTuple):
    """What a run's page shows between its tiles and its tables."""

    section: str  # the template of it all
    rows: str  # the template of what is fetched again while the run goes on
    context: Mapping[str, Any]
    query: str = ""  # of the address that gives the rows again
    style: str = ""  # its own style sheet
    stands_first: bool = False  # above the charts, and instead of the tile with the score


class RunFile(NamedTuple):
    """A file that a run of this kind can be downloaded as."""

    media_type: str
    write: Callable[[Run], str]


class NoFileError(ValueError):
    """There is nothing to write. Says why."""


class Findings(ABC):
    """What a run found besides the scores of its candidates: for gates and commands."""

    score: Estimate | None
    value_failures_wrong: float | None
    best: str | None  # the key of the candidate that it is about

    @abstractmethod
    def candidate_lines(self) -> list[CandidateLine]:
        """The best first."""

    @abstractmethod
    def table(self) -> Table:
        """For a terminal."""

    @abstractmethod
    def lines_below(self) -> list[str]:
        """What stands below the table."""

    @abstractmethod
    def as_record(self) -> dict[str, Any]:
        """For programs."""

    @abstractmethod
    def write_file(self, path: Path) -> bool:
        """Whether the file of this name is its to write, and not one of the scores."""


class RunHere(NamedTuple):
    """What a run in the process of a command has come to."""

    configuration: Configuration
    cases: int
    scores: Sequence[Score]
    seconds: float
    slots: int  # calls at once


class SiteKind:
    name: ClassVar[str]
    title: ClassVar[str]
    """As lists name it."""
    purpose: ClassVar[str] = ""
    """What a person uses it for, as the new-run form offers it."""
    chooses: ClassVar[bool] = False
    """Its score is that of the candidate that it chose: the mean over all that were tried says
    nothing. Its candidates saw different cases, so it has no score before it has decided."""
    candidate_word: ClassVar[str] = "candidate"
    section: ClassVar[type[FormSection] | None] = None
    """Its part of the new-run form. None: such runs are written as YAML."""
    style: ClassVar[str] = ""
    """The style sheet of its part of the form."""
    files: ClassVar[Mapping[str, RunFile]] = {}
    """By name, below the run's address."""
    export_suffixes: ClassVar[Sequence[str]] = ()
    """Of files that `--export` can write besides the scores."""

    def board(self, run: Run, given: Mapping[str, str]) -> Board:
        """`given`: what the address of the page asks for."""
        rows = {"rows": leaderboard(run)}
        return Board("runs/run/_leaderboard_section.html", "runs/run/_leaderboard.html", rows)

    def in_order(self, run: Run, candidates: Sequence[Candidate]) -> list[Candidate]:
        """As the leaderboard ranks them."""
        return by_score(candidates)

    def compared(self, run: Run) -> QuerySet[Candidate]:
        """Those that another run is compared with."""
        return run.candidates.filter(role=EVALUATE).order_by("position")

    def find(self, run: Run) -> Findings | None:
        return None

    def find_here(self, run: RunHere) -> Findings | None:
        return None

    def why_unused(self, configuration: Configuration) -> str:
        """Why slots stay empty at the beginning."""
        if configuration.limits.schedule == "two_level":
            return "the schedule two_level starts whole candidates only"
        return "there are no more trials"

    def routers(self) -> list[Router]:
        """Its own routes of the API."""
        return []
