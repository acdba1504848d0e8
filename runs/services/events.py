"""Notes down what happened to a run and why."""

from runs.models import EventLevel, Run, RunEvent


def note(run: Run, message: str, level: EventLevel = EventLevel.INFO) -> None:
    RunEvent.objects.create(run=run, level=level, message=message[:500])
