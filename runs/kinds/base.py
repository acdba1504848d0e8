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
from runs.reports.candidates_csv import write_candidates_csv
from runs.reports.report import CandidateLine
from runs.roles import Permission
from runs.selectors.runs.leaderboard import leaderboard
from runs.selectors.runs.leaderboard_page import leaderboard_page, read_k
from workers.engine.records import EVALUATE, Score
from workers.engine.spec.configuration import Configuration, TrialRange
from workers.engine.statistics.intervals import Estimate


class Board(NamedTuple):
    """What a run's page shows between its tiles and its tables."""

    section: str  # the template of it all
    rows: str  # the template of what is fetched again while the run goes on
    context: Mapping[str, Any]
    query: str = ""  # of the address that gives the rows again
    style: str = ""  # its own style sheet
    script: str = ""  # its own script
    stands_first: bool = False  # above the charts, and instead of the tile with the score


class Pictures(NamedTuple):
    """What a run's page fetches once it is there: it takes longer than the page may."""

    template: str
    context: Mapping[str, Any]


class RunFile(NamedTuple):
    """A file that a run of this kind can be downloaded as."""

    media_type: str
    write: Callable[[Run], str]
    permission: Permission = Permission.SEE


class Demo(NamedTuple):
    """A run on the simulated provider that shows what the kind is for, within a minute."""

    name: str
    button: str
    about: str  # what it does, as a part of a sentence
    document: Mapping[str, Any]


class KindGuide(NamedTuple):
    """The page of the help that explains a kind."""

    name: str  # in its address
    file: str  # below docs/


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


def board_rows(run: Run) -> list[dict[str, Any]]:
    names = ("key", "name", "rank", "value", "low", "high", "n", "failed")
    return [{name: getattr(row, name) for name in names} for row in leaderboard(run)]


class TriedOn(NamedTuple):
    """What each candidate is tried on, as in 60 cases."""

    number: int
    word: str


class AtOnce(NamedTuple):
    """The most calls that a kind has under way, with what would raise it."""

    calls: int
    name: str
    lever: str


class SiteKind:
    name: ClassVar[str]
    title: ClassVar[str]
    """As lists name it."""
    purpose: ClassVar[str] = ""
    """What a person uses it for, as the new-run form offers it."""
    chooses: ClassVar[bool] = False
    """Its score is that of the candidate that it chose: the mean over all that were tried says
    nothing. Its candidates saw different cases, so it has no score before it has decided."""
    counts_failures: ClassVar[bool] = False
    """Whether a failed trial counts as wrong in the score of what it chose."""
    can_be_wrong: ClassVar[bool] = True
    """Whether a failed trial may count as wrong. Not where a score is a reward: a zero is one."""
    candidate_word: ClassVar[str] = "candidate"
    candidate_words: ClassVar[str] = ""
    """Of several, where an s is not enough."""
    case_word: ClassVar[str] = "case"
    section: ClassVar[type[FormSection] | None] = None
    """Its part of the new-run form. None: such runs are written as YAML."""
    style: ClassVar[str] = ""
    """The style sheet of its part of the form."""
    demo: ClassVar[Demo | None] = None
    guide: ClassVar[KindGuide | None] = None
    files: ClassVar[Mapping[str, RunFile]] = {
        "candidates.csv": RunFile("text/csv", write_candidates_csv)
    }
    """By name, below the run's address."""
    export_suffixes: ClassVar[Sequence[str]] = ()
    """Of files that `--export` can write besides the scores."""

    def board(self, run: Run, given: Mapping[str, str]) -> Board:
        """`given`: what the address of the page asks for."""
        k = read_k(run, given)
        return Board(
            "runs/run/_leaderboard_section.html",
            "runs/run/_leaderboard.html",
            {"leaderboard": leaderboard_page(run, k)},
            query=f"?k={k}" if k else "",
        )

    def pictures(self, run: Run) -> Pictures | None:
        return None

    def own_order(self, run: Run, candidates: Sequence[Candidate]) -> list[Candidate] | None:
        """The best first, of a kind that says itself who that is. None: by their scores, on the
        cases that all have reached."""
        return None

    def compared(self, run: Run) -> QuerySet[Candidate]:
        """Those that another run is compared with."""
        return run.candidates.filter(role=EVALUATE).order_by("position")

    def headlines(self, runs: Sequence[Run]) -> Mapping[int, Estimate]:
        """What stands for runs of this kind, by their numbers, where that is not the score of the
        best candidate."""
        return {}

    def board_record(self, run: Run) -> dict[str, Any]:
        """What the board shows, for programs: what was found, or else the leaderboard."""
        found = self.find(run)
        return found.as_record() if found else {"candidates": board_rows(run)}

    def find(self, run: Run) -> Findings | None:
        return None

    def find_here(self, run: RunHere) -> Findings | None:
        return None

    def tried_on(self, configuration: Configuration, cases: int) -> TriedOn:
        """As an estimate multiplies it."""
        return TriedOn(cases, self.case_word)

    def at_once(self, configuration: Configuration) -> AtOnce | None:
        """Of a kind whose trials make their calls one after the other, for a longer time."""
        return None

    def explain_calls(self, configuration: Configuration, bounds: TrialRange) -> str:
        """What a trial asks, where that is more than a call or two."""
        return ""

    def explain_bounds(self, configuration: Configuration, every: int, bounds: TrialRange) -> str:
        """Why there may be fewer trials than every candidate on every case, said after them."""
        allowed = f", and “Evaluations at most” allows {bounds.most:,}"
        return (
            f"if nothing is given up; the first round takes {bounds.least:,}"
            f"{allowed if bounds.most < every else ''}."
        )

    def without_prices(self, configuration: Configuration) -> str:
        """What follows where models have no price, to be known before the launch."""
        return ""

    def on_held_out(self, configuration: Configuration) -> str:
        """What happens on held-out cases at the end, as in `the best is scored` on them."""
        return "the best is scored"

    def why_unused(self, configuration: Configuration) -> str:
        """Why slots stay empty at the beginning."""
        if configuration.limits.schedule == "two_level":
            return "the schedule two_level starts whole candidates only"
        return "there are no more trials"

    def routers(self) -> list[Router]:
        """Its own routes of the API."""
        return []
