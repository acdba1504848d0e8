"""What the page of a run shows of its cases, made from one look at all of its scores.

That look takes some 0.3 s for 100,000 trials. So it is kept for as long as the run stays as it is;
and while the run goes on, looking takes at most a tenth of the time, whoever asks how often.
"""

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

import orjson

from runs.models import Case, Run
from runs.selectors.case_sources import positions_of
from runs.selectors.pictures.heatmap import draw_heatmap
from runs.selectors.pictures.histograms import Histogram, draw_histograms
from runs.selectors.pictures.solved import Solved, find_solved
from runs.selectors.runs.board_figures import figures_of
from runs.selectors.runs.confirmation import count_held_out
from runs.selectors.runs.leaderboard import in_order
from runs.selectors.scores.by_case import tally_by_case
from workers.engine.records import EVALUATE

RUNS_KEPT = 8  # up to half a megabyte each
IDLE_TIMES = 10  # while the run goes on, a picture is kept ten times as long as it took
SHORTEST_SECONDS = 2.0
CASES_LISTED = 6
CASES_LINKED = 100  # as many as fit into an address
LONGEST_QUESTION = 120  # characters
MOST_BYTES_READ = 4_000_000  # of the cases' texts; pictures of larger ones show numbers only


class ListedCase(NamedTuple):
    position: int  # its row in the dataset
    question: str  # empty if its texts are too long to be read for this


class CaseList(NamedTuple):
    size: int
    first: list[ListedCase]
    positions: list[int]  # as many as a link can name

    @property
    def address(self) -> str:
        return ",".join(map(str, self.positions))


@dataclass(frozen=True)
class CasePictures:
    candidates: int
    heatmap: bytes  # JSON
    histograms: list[Histogram]
    by_nobody: CaseList
    by_everybody: CaseList
    solved: Solved


@dataclass
class Kept:
    lock: Lock = field(default_factory=Lock)
    state: tuple[Any, ...] = ()
    until: float = 0.0
    pictures: CasePictures | None = None


_kept: OrderedDict[tuple[int, datetime], Kept] = OrderedDict()
_kept_lock = Lock()


def case_pictures(run: Run) -> CasePictures:
    """As of now, or of a moment ago while the run goes on."""
    kept = kept_of(run)
    state = (run.version, run.done, run.failed, run.value_sum, run.state)
    with kept.lock:  # of several who ask, one looks
        is_young = not run.is_finished and time.monotonic() < kept.until
        if kept.pictures is None or (kept.state != state and not is_young):
            started = time.monotonic()
            kept.pictures, kept.state = draw_pictures(run), state
            took = time.monotonic() - started
            kept.until = time.monotonic() + max(IDLE_TIMES * took, SHORTEST_SECONDS)
        return kept.pictures


def cases_solved(run: Run, by: str) -> list[Case]:
    """By `nobody`, or by `everybody`, in the order of the dataset."""
    solved = case_pictures(run).solved
    wanted = set(solved.by_nobody if by == "nobody" else solved.by_everybody)
    cases = Case.objects.filter(dataset=run.dataset_id).order_by("position")
    return [case for case in cases.iterator() if case.pk in wanted]


def kept_of(run: Run) -> Kept:
    """By the moment of its launch, too: a database that is emptied gives its numbers again."""
    key = (run.pk, run.created)
    with _kept_lock:
        kept = _kept.pop(key, None) or Kept()
        _kept[key] = kept
        while len(_kept) > RUNS_KEPT:
            _kept.popitem(last=False)
        return kept


def draw_pictures(run: Run) -> CasePictures:
    candidates = list(run.candidates.filter(role=EVALUATE).defer("document"))
    ranked = in_order(figures_of(run), candidates)
    tallies = tally_by_case(run, [candidate.pk for candidate in candidates])
    heatmap = draw_heatmap(ranked, tallies, len(positions_of(run)), count_held_out(run))
    solved = find_solved(len(candidates), tallies)
    listed = (*solved.by_nobody[:CASES_LISTED], *solved.by_everybody[:CASES_LISTED])
    linked = (*solved.by_nobody[:CASES_LINKED], *solved.by_everybody[:CASES_LINKED])
    positions = positions_in_dataset({*heatmap.cases_named, *linked})
    questions = read_questions(run, {*listed, *heatmap.cases_alone})
    return CasePictures(
        candidates=len(candidates),
        heatmap=orjson.dumps(heatmap.as_record(positions, questions)),
        histograms=draw_histograms(run, ranked),
        by_nobody=list_cases(solved.by_nobody, positions, questions),
        by_everybody=list_cases(solved.by_everybody, positions, questions),
        solved=solved,
    )


def positions_in_dataset(cases: set[int]) -> Mapping[int, int]:
    return dict(Case.objects.filter(pk__in=cases).values_list("pk", "position"))


def read_questions(run: Run, cases: set[int]) -> Mapping[int, str]:
    """The beginnings, on one line. Nothing where the texts of so many cases are long."""
    each = run.dataset.size / max(run.dataset.rows, 1)
    if each * len(cases) > MOST_BYTES_READ:
        return {}
    found = Case.objects.filter(pk__in=cases).only("fields")
    return {case.pk: " ".join(case.question.split())[:LONGEST_QUESTION] for case in found}


def list_cases(
    cases: Sequence[int], positions: Mapping[int, int], questions: Mapping[int, str]
) -> CaseList:
    first = [ListedCase(positions[case], questions.get(case, "")) for case in cases[:CASES_LISTED]]
    return CaseList(len(cases), first, [positions[case] for case in cases[:CASES_LINKED]])
