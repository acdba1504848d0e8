"""What the leaderboard of a run says that needs its cases: intervals, differences, repeats.

It reads every score, so a page does not ask for it each second: figures of a run that has ended
are stored (`runs/services/board_figures.py`), those of a run that goes on are kept in this process
for many times as long as they took. Meanwhile the page shows older ones beside fresh counters.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

from runs.kinds import kind_of
from runs.models import Candidate, Run, RunFigures
from runs.selectors.scores.by_case import CaseTally, tally_by_case
from workers.engine.records import EVALUATE
from workers.engine.statistics.boards import Board, Figures, Interval, compare_candidates
from workers.engine.statistics.clusters import estimate_widely
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.paired import Difference
from workers.engine.statistics.repeats import Alike
from workers.engine.statistics.separating import Separation

BOARD_VERSION = 3  # raise it when the same scores come to another board
REST = 25  # times as long as figures took, they are good enough: 4 % of a processor at most
WARM_RUNS = 64


class Kept(NamedTuple):
    board: Board[int]
    stamp: str
    until: float  # by the clock of this process


_warm: OrderedDict[tuple[int, datetime], Kept] = OrderedDict()
_computing: set[tuple[int, datetime]] = set()
_lock = Lock()


def figures_of(run: Run) -> Board[int]:
    """By the numbers of the candidates that evaluate. Of a run that has ended always of now."""
    key, stamp = (run.pk, run.created), stamp_of(run)
    kept = _warm.get(key)
    if kept and (kept.stamp == stamp or (not run.is_finished and is_good_enough(key, kept))):
        return kept.board
    return keep(key, stamp, *read_stored_or_compute(run, key, stamp))


def is_good_enough(key: tuple[int, datetime], kept: Kept) -> bool:
    return time.monotonic() < kept.until or key in _computing


def read_stored_or_compute(
    run: Run, key: tuple[int, datetime], stamp: str
) -> tuple[Board[int], float]:
    """With the seconds that it took to compute."""
    if run.is_finished and (stored := stored_board(run, stamp)):
        return stored, 0.0
    started = time.monotonic()
    _computing.add(key)
    try:
        return compute(run), time.monotonic() - started
    finally:
        _computing.discard(key)


def keep(key: tuple[int, datetime], stamp: str, board: Board[int], took: float) -> Board[int]:
    with _lock:
        _warm[key] = Kept(board, stamp, time.monotonic() + REST * took)
        _warm.move_to_end(key)
        while len(_warm) > WARM_RUNS:
            _warm.popitem(last=False)
    return board


def stamp_of(run: Run) -> str:
    """Another one when a score came, went or changed, and when the run ended."""
    return f"{BOARD_VERSION}/{run.version}/{run.done}/{run.failed}/{run.value_sum!r}/{run.ended}"


def stored_board(run: Run, stamp: str) -> Board[int] | None:
    found = RunFigures.objects.filter(run=run, stamp=stamp).first()
    return unpack(found.document) if found else None


def stored_scores(runs: Iterable[Run]) -> dict[int, RunFigures]:
    """The best candidate of those that have ended, and its score, in one question."""
    ended = {run.pk: run for run in runs if run.is_finished and run.scored}
    if not ended:
        return {}
    rows = RunFigures.objects.filter(run__in=ended, best__isnull=False).select_related("best")
    rows = rows.defer("document", "best__document", "best__latency_bins")
    return {row.run_id: row for row in rows if row.stamp == stamp_of(ended[row.run_id])}


def compute(run: Run) -> Board[int]:
    candidates = list(run.candidates.filter(role=EVALUATE).order_by("position"))
    by_candidate: dict[int, dict[Hashable, CaseTally]] = {one.pk: {} for one in candidates}
    for tally in tally_by_case(run, by_candidate if run.told("done") else None):
        by_candidate[tally.candidate_id][tally.case_id] = tally
    squares = {one.pk: one.value_square_sum for one in candidates}
    own = kind_of(run).own_order(run, candidates)
    order = None if own is None else [one.pk for one in own]
    return compare_candidates(by_candidate, squares, order, has_draws=run.is_finished)


# --- As they are stored. Infinite bounds are left out: JSON has no word for them.


def pack(board: Board[int]) -> dict[str, Any]:
    return {
        "order": board.order,
        "common": board.common,
        "is_even": board.is_even,
        "figures": {str(key): pack_figures(each) for key, each in board.figures.items()},
    }


def pack_figures(figures: Figures) -> dict[str, Any]:
    found, difference = figures._asdict(), None
    if figures.separation:
        if figures.separation.difference:
            each = figures.separation.difference._asdict().values()
            difference = [None if v in (math.inf, -math.inf) else v for v in each]
        found["separation"] = [difference, *figures.separation[1:]]
    return found


def unpack(document: Mapping[str, Any]) -> Board[int]:
    return Board(
        order=document["order"],
        figures={int(key): unpack_figures(each) for key, each in document["figures"].items()},
        common=document["common"],
        is_even=document["is_even"],
    )


def unpack_figures(document: Mapping[str, Any]) -> Figures:
    estimate, drawn, separation = (
        document[name] for name in ("estimate", "bootstrap", "separation")
    )
    return Figures(
        reached=document["reached"],
        estimate=Estimate(*estimate) if estimate else None,
        is_share=document["is_share"],
        bootstrap=Interval(*drawn) if drawn else None,
        lower_end=document["lower_end"],
        compared=document["compared"],
        is_ranked=document["is_ranked"],
        separation=unpack_separation(*separation) if separation else None,
        repeats=[Alike(*each) for each in document["repeats"]],
    )


def unpack_separation(difference: list[Any] | None, p: float, needed: int | None) -> Separation:
    if difference is None:
        return Separation(None, p, needed)
    mean, low, high, *rest = difference
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    return Separation(Difference(mean, low, high, *rest), p, needed)


def estimate_now(candidate: Candidate, figures: Figures | None) -> Estimate | None:
    """Of its counters, which may be newer than its figures: then as if all answers to a case had
    agreed, which is the widest that the interval can be."""
    if figures and figures.estimate and figures.estimate.n == candidate.scored:
        return figures.estimate
    answers = 1.0
    if figures and figures.estimate and figures.reached:
        answers = max(1.0, figures.estimate.n / figures.reached)
    return estimate_widely(
        candidate.scored, candidate.value_sum, candidate.value_square_sum, answers
    )
