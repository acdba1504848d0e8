"""Schedules as pages and programs show them."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from pydantic import BaseModel

from runs.cron import in_words
from runs.models import Configuration, DueTime, Run, Schedule
from runs.selectors.system.maintenance import current_maintenance

MOST_TIMES = 10


class DueRow(BaseModel):
    """`outcome` is launched, missed, skipped or refused. `missed`: due times that passed unnoticed,
    this one too if it was missed."""

    due: datetime
    outcome: str
    told: str
    missed: int
    run: int | None


class ScheduleAnswer(BaseModel):
    """`state` is on, maintenance, paused or stopped; `stopped` says why the site stopped it."""

    cron: str
    time_zone: str
    in_words: str
    owner: str
    catches_up: bool
    state: str
    stopped: str
    next_due: datetime | None
    times: list[DueRow]


def schedule_of(stored: Configuration) -> Schedule | None:
    return Schedule.objects.filter(configuration=stored).select_related("owner").first()


def schedule_answer(schedule: Schedule, runs: QuerySet[Run]) -> ScheduleAnswer:
    """`runs`: those that the person may see; others are not named."""
    return ScheduleAnswer(
        cron=schedule.cron,
        time_zone=schedule.time_zone,
        in_words=in_words(schedule.cron),
        owner=schedule.owner.get_username(),
        catches_up=schedule.catches_up,
        state=state_of(schedule),
        stopped=schedule.stopped,
        next_due=schedule.next_due.astimezone(ZoneInfo(schedule.time_zone))
        if schedule.next_due
        else None,
        times=due_rows(schedule, runs),
    )


def state_of(schedule: Schedule) -> str:
    if not schedule.is_on:
        return "stopped" if schedule.stopped else "paused"
    return "maintenance" if current_maintenance() is not None else "on"


def due_rows(schedule: Schedule, runs: QuerySet[Run]) -> list[DueRow]:
    found = list(DueTime.objects.filter(schedule=schedule)[:MOST_TIMES])
    keys = [one.run_id for one in found if one.run_id]
    seen = set(runs.filter(pk__in=keys).values_list("pk", flat=True))
    return [
        DueRow(
            due=one.due.astimezone(ZoneInfo(schedule.time_zone)),
            outcome=one.outcome,
            told=one.told,
            missed=one.missed,
            run=one.run_id if one.run_id in seen else None,
        )
        for one in found
    ]
