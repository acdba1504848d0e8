"""What is due by the clock: schedules, and judging runs that have ended. Any number of processes
may ask."""

from datetime import datetime

from runs.services.gating import judge_ended, to_judge
from runs.services.schedules import has_due_schedules, launch_due


def is_anything_due(now: datetime) -> bool:
    """Asked every few seconds, and nearly always answered with no."""
    return has_due_schedules(now) or to_judge(now).exists()


def do_what_is_due(now: datetime) -> None:
    launch_due(now)
    judge_ended(now)
