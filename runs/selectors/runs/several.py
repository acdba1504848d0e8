"""Several runs at once: of which an action holds, why not of the others, what it takes along."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from django.db.models import QuerySet

from runs.models import CachedReply, Override, Run, RunState, Score, ScoreRecord

MOST_AT_ONCE = 500  # runs of one form


class Action(NamedTuple):
    """What can be done with runs. `why_not` is empty for those of which it holds."""

    title: str  # as a button says it
    about: str
    why_not: Callable[[Run], str]
    is_dangerous: bool = False


def _unless_live(run: Run) -> str:
    return "" if run.is_finished else "It has not ended. Cancel it first."


def _if_live(run: Run) -> str:
    return "It has ended." if run.is_finished else ""


def _if_failed(run: Run) -> str:
    if run.state in {RunState.CANCELLED, RunState.FAILED}:
        return f"A run that was {run.state} does not go on. Duplicate it."
    if run.remove_after:
        return "It is deleted. Bring it back first."
    return "" if run.failed or run.told("failed") else "No trial failed."


def _if_gone(run: Run) -> str:
    return "" if run.archived else "It is in the list already."


def _unless_archived(run: Run) -> str:
    return _unless_live(run) or ("It is archived already." if run.archived else "")


def _unless_deleted(run: Run) -> str:
    return _unless_live(run) or ("It is deleted already." if run.remove_after else "")


def _always(run: Run) -> str:
    return ""


ACTIONS: dict[str, Action] = {
    "tag": Action("Tag", "Everybody who sees a run sees its tags.", _always),
    "retry": Action("Retry failed", "Only the trials that failed are run again.", _if_failed),
    "cancel": Action(
        "Cancel",
        "What is scored so far stays. A cancelled run does not go on.",
        _if_live,
        is_dangerous=True,
    ),
    "archive": Action(
        "Archive",
        "They leave the list and stay under Archived, with all their results.",
        _unless_archived,
    ),
    "restore": Action("Bring back", "They stand in the list again.", _if_gone),
    "delete": Action(
        "Delete",
        "They leave the list and are removed for good later; until then they can be brought back.",
        _unless_deleted,
        is_dangerous=True,
    ),
}


class Chosen(NamedTuple):
    """Of the ticked runs, those of which the action holds, and why it does not of the others."""

    runs: list[Run]
    others: list[tuple[Run, str]]


def sort_out(action: Action, runs: Iterable[Run], refusals: Mapping[int, str]) -> Chosen:
    """`refusals`: of runs that the person may not change, by number."""
    found, others = list[Run](), list[tuple[Run, str]]()
    for run in runs:
        why = refusals.get(run.pk) or action.why_not(run)
        if why:
            others.append((run, why))
        else:
            found.append(run)
    return Chosen(found, others)


def goes_along(runs: Iterable[Run]) -> dict[str, int]:
    """What is removed with these runs; cached answers stay for later runs."""
    keys = [run.pk for run in runs]

    def count(rows: QuerySet) -> int:  # type: ignore[type-arg]
        return int(rows.filter(run__in=keys).count())

    return {
        "runs": len(keys),
        "scores": count(Score.objects.order_by()),
        "records": count(ScoreRecord.objects.order_by()),
        "other_scores_given_by_people": count(Override.objects.order_by()),
    }


def answers_kept(runs: Iterable[Run]) -> int:
    return CachedReply.objects.filter(run__in=[run.pk for run in runs]).count()
