"""Pauses the runs of a person whose dollars of the day are used up, as a budget would."""

from datetime import datetime

from runs import formatting
from runs.models import EventLevel, Run, RunState
from runs.selectors.quotas import spent_on_day
from runs.services.control.pauses import hold_run
from workers.engine.errors import Problem


def watch_day(run: Run, now: datetime) -> None:
    """With every write, under the lock on the run's row. Costs nothing without a quota."""
    most = run.quota.get("dollars_per_day")
    if most is None or run.state not in RunState.going() or run.done >= run.planned:
        return
    if spent_on_day(run.owner_id, now) >= most:
        reason = f"{_day_text(most)}: resume it after midnight UTC, or have the quota raised"
        hold_run(run.pk, reason, level=EventLevel.WARNING)


def day_problems(run: Run, now: datetime) -> list[Problem]:
    """Why a run would only pause again."""
    most = run.quota.get("dollars_per_day")
    if most is None or spent_on_day(run.owner_id, now) < most:
        return []
    return [Problem("", f"{_day_text(most)}. Resume after midnight UTC, or have the quota raised.")]


def _day_text(dollars: float) -> str:
    return f"The {formatting.dollars(dollars)} a day of its owner are used up"
