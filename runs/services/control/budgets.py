"""Watches what a run uses of its budget: warns once at 80 %, pauses it at the end."""

from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from runs.models import AlertEvent, EventLevel, Run, RunEvent, RunState
from runs.selectors.limits.budgets import (
    WARN_SHARE,
    BudgetLine,
    read_budget,
    spent_lines,
    spent_text,
)
from runs.services.control.pauses import hold_run
from runs.services.day_dollars import day_problems
from workers.engine.errors import ConfigurationError, Problem


def watch_budget(run: Run, now: datetime) -> None:
    """With every write, under the lock on the run's row; with every sweep where nobody writes."""
    if run.state not in RunState.going() or run.done >= run.planned:
        return
    lines = read_budget(run, now)
    for line in lines:
        if line.share >= WARN_SHARE:
            _warn_once(run, line)
    for line in lines:
        if line.is_used_up:
            _stop(run, line, "")
            return


def _warn_once(run: Run, line: BudgetLine) -> None:
    data = {"name": line.name, "total": line.total}
    if run.events.filter(kind="budget", data=data).exists():
        return
    told = f"{100 * WARN_SHARE:.0f} % of the budget is used: {line.text}."
    RunEvent.objects.create(
        run=run, kind="budget", level=EventLevel.WARNING, message=told, data=data
    )


def _stop(run: Run, line: BudgetLine, detail: str) -> bool:
    spent = {**run.spent_budgets, line.name: line.total}
    Run.objects.filter(pk=run.pk).update(spent_budgets=spent)
    reason = f"{spent_text(line)}{detail}: raise it to resume, or cancel the run"
    return hold_run(run.pk, reason, level=EventLevel.WARNING, event=AlertEvent.BUDGET)


@transaction.atomic
def stop_for_budget(run_id: int, name: str) -> bool:
    """Pause a run whose budget has no room for another call, by the count that the workers share.
    That count may be ahead of what is stored: calls whose worker died were sent, too."""
    going = Run.objects.select_for_update().filter(pk=run_id, state__in=RunState.going())
    run = going.annotate(clock=Now()).first()
    if run is None:
        return False
    line = next((line for line in read_budget(run, run.clock) if line.name == name), None)
    if line is None:
        return False
    return _stop(run, line, "" if line.is_used_up else " (no room for another call)")


def watch_seconds() -> None:
    """Time passes also for runs that nobody writes for, as while an endpoint is paused."""
    going = Run.objects.filter(state=RunState.RUNNING)
    for run_id in going.values_list("pk", flat=True):
        _watch(run_id)


@transaction.atomic
def _watch(run_id: int) -> None:
    run = Run.objects.select_for_update().annotate(clock=Now()).filter(pk=run_id).first()
    if run is not None:
        watch_budget(run, run.clock)


class BudgetSpent(ConfigurationError):
    """A run whose budget is used up would only pause again."""


def refuse_if_spent(run: Run, now: datetime) -> None:
    """Raises BudgetSpent."""
    problems = [
        Problem(f"budget.{line.name}", f"{spent_text(line)}. Raise it to resume the run.")
        for line in spent_lines(run, now)
    ]
    problems += day_problems(run, now)
    if problems:
        raise BudgetSpent(problems)
