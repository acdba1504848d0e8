"""What became of a run, as gates judge it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from django.db.models import Count

from runs.kinds import kind_of
from runs.models import Run, RunState
from runs.selectors.limits.budgets import spent_lines
from runs.selectors.runs.board_figures import figures_of
from workers.engine.records import EVALUATE
from workers.engine.statistics.boards import Board, Key
from workers.engine.statistics.gates import Ending, Outcome
from workers.engine.statistics.intervals import Estimate

PAUSED_BY = "Paused by "  # how the reason begins when a person paused a run
_ENDINGS: dict[str, Ending] = {
    RunState.COMPLETED: "finished",
    RunState.COMPLETED_WITH_ERRORS: "finished",
    RunState.CANCELLED: "cancelled",
    RunState.FAILED: "failed",
}


class Found(Protocol):
    """What a run found, as far as gates judge it."""

    score: Estimate | None
    value_failures_wrong: float | None


def has_stopped(run: Run) -> bool:
    """Whether waiting is over: it ended, or it stopped itself. A person who paused it is likely
    to resume it."""
    is_held = run.state == RunState.PAUSED and not run.reason.startswith(PAUSED_BY)
    return run.is_finished or is_held


def outcome_of(run: Run, now: datetime, found: Found | None = None, named: str = "") -> Outcome:
    """Its score is that of what it found, else of its best candidate, or of the one `named`."""
    ending = _ENDINGS.get(run.state) or ("budget" if spent_lines(run, now) else "errors")
    return Outcome(
        ending=ending,
        reason="" if ending == "finished" else run.reason,
        planned=run.planned,
        done=run.done,
        failed=run.failed,
        **score_of_run(run, found, named),
        cost=run.cost,
        unpriced=run.unpriced,
    )


def score_of_run(run: Run, found: Found | None, named: str) -> dict[str, Any]:
    if found and not named and (found.score or kind_of(run).chooses):
        return score_found(found)
    names = dict(run.candidates.filter(role=EVALUATE).values_list("pk", "name"))
    return score_on_board(figures_of(run), names, named)


def score_found(found: Found) -> dict[str, Any]:
    return {"score": found.score, "value_failures_wrong": found.value_failures_wrong}


def score_on_board(board: Board[Key], names: Mapping[Key, str], named: str) -> dict[str, Any]:
    """Of the best candidate, or of the one that is named. Its interval is for cases like these:
    answers to one case belong together."""
    key = next((key for key in names if names[key] == named), None) if named else board.best
    if key is None:
        return {"score": None, "value_failures_wrong": None, "candidate": named}
    return {
        "score": board.figures[key].estimate,
        "value_failures_wrong": board.figures[key].lower_end,
        "candidate": names[key] if len(names) > 1 else "",
    }


def count_errors(run: Run) -> dict[str, int]:
    """Failed trials by class, most first."""
    failed = run.scores.exclude(error_class="").order_by()
    counts = failed.values_list("error_class").annotate(times=Count("pk"))
    return dict(counts.order_by("-times", "error_class"))
