"""Pauses a run in which more trials fail than its configuration allows."""

from runs.models import EventLevel, Run, RunEvent, RunState
from runs.services.pauses import hold_run
from workers.engine.streaks import has_too_many_failures

KIND = "failures"


def watch_failures(run: Run) -> None:
    """With every write, under the lock on the run's row. Once: who resumes it has seen them."""
    allowed = run.document.get("fail_on_error")
    if not allowed or run.state not in RunState.going():
        return
    if not has_too_many_failures(allowed, run.failed, run.done):
        return
    if run.events.filter(kind=KIND).exists():
        return
    most = f"{allowed:g}" if allowed >= 1 else f"{100 * allowed:g} %"
    told = f"{run.failed:,} of {run.done:,} trials failed, and fail_on_error allows {most}"
    RunEvent.objects.create(run=run, kind=KIND, level=EventLevel.ERROR, message=f"{told}.")
    hold_run(run.pk, f"{told}: see Errors, then resume or cancel", level=EventLevel.ERROR)
