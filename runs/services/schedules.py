"""Keeps schedules, and launches what is due.

Any number of processes may ask at once: who moves `next_due` on, in the transaction that launches
the run, has it. The clock is passed in.
"""

import logging
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser, User
from django.db import DatabaseError, transaction
from django.db.models import QuerySet

from runs.access import datasets_to_run_on, prompts_for, stored_configurations_for
from runs.cron import check_cron, count_due, last_due, next_due
from runs.formatting import counted
from runs.models import (
    AuditAction,
    Configuration,
    DueOutcome,
    DueTime,
    Run,
    RunState,
    Schedule,
)
from runs.roles import Permission, may
from runs.selectors.case_sources import source_of
from runs.selectors.named_parts import refuse_written_code
from runs.selectors.prompts import read_with_library
from runs.selectors.system.maintenance import current_maintenance
from runs.services.audit import record
from runs.services.runs import Source, create_run
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.line_ends import with_plain_line_ends

logger = logging.getLogger(__name__)

AT_ONCE = 20
GRACE = timedelta(minutes=5)  # a due time this old is late, as by a restart; an older one is missed
MOST_COUNTED = 1000  # due times that passed unnoticed
LONGEST = 300  # characters, as in the tables
OUR_FAULT = "Something went wrong on our side. The log of the site tells more."


@transaction.atomic
def save_schedule(
    stored: Configuration,
    user: AbstractBaseUser,
    cron: str,
    time_zone: str,
    now: datetime,
    *,
    catches_up: bool = False,
) -> Schedule:
    """From now on, as runs of this person. ConfigurationError says what is wrong with it."""
    plain = " ".join(cron.upper().split())
    check_cron(plain, time_zone, now)
    given = {
        "owner_id": user.pk,
        "cron": plain,
        "time_zone": time_zone,
        "catches_up": catches_up,
        "is_on": True,
        "stopped": "",
        "next_due": next_due(plain, time_zone, now),
    }
    schedule, _ = Schedule.objects.update_or_create(configuration=stored, defaults=given)
    record(AuditAction.SCHEDULE_SAVED, stored, str(schedule), actor=user)
    return schedule


@transaction.atomic
def pause_schedule(schedule: Schedule, user: AbstractBaseUser) -> bool:
    """False if it was off already."""
    on = Schedule.objects.filter(pk=schedule.pk, is_on=True)
    if not on.update(is_on=False, next_due=None, stopped=""):
        return False
    record(AuditAction.SCHEDULE_PAUSED, schedule.configuration, str(schedule), actor=user)
    return True


@transaction.atomic
def resume_schedule(schedule: Schedule, user: AbstractBaseUser, now: datetime) -> bool:
    """As runs of this person. What was due meanwhile was not missed. False if it was on."""
    off = Schedule.objects.filter(pk=schedule.pk, is_on=False)
    due = next_due(schedule.cron, schedule.time_zone, now)
    if not off.update(is_on=True, next_due=due, stopped="", owner_id=user.pk):
        return False
    record(AuditAction.SCHEDULE_SAVED, schedule.configuration, str(schedule), actor=user)
    return True


@transaction.atomic
def delete_schedule(schedule: Schedule, user: AbstractBaseUser) -> None:
    """Its runs stay."""
    record(AuditAction.SCHEDULE_REMOVED, schedule.configuration, str(schedule), actor=user)
    schedule.delete()


def has_due_schedules(now: datetime) -> bool:
    return _live_schedules().filter(next_due__lte=now).exists()


def _live_schedules() -> QuerySet[Schedule]:
    """None of a deleted configuration: it goes on when that is brought back. Without a join, which
    would have PostgreSQL look at a row as it was before another process claimed it."""
    kept = Configuration.objects.filter(remove_after=None)
    return Schedule.objects.filter(is_on=True, configuration__in=kept)


def launch_due(now: datetime) -> int:
    """Tells how many due times this process took. While the site is maintained nothing is due;
    afterwards what passed was missed."""
    if current_maintenance() is not None:
        return 0
    due = _live_schedules().filter(next_due__lte=now).order_by("next_due")
    found = due.select_related("configuration", "owner")[:AT_ONCE]
    return sum(_take(schedule, now) for schedule in found)


def _take(schedule: Schedule, now: datetime) -> bool:
    """What goes wrong with one must not keep the others, nor this one for ever."""
    try:
        return _launch_once(schedule, now)
    except DatabaseError:
        raise
    except Exception:
        logger.exception("Schedule %s could not be launched.", schedule.pk)
        return _close_due(schedule, now, DueOutcome.REFUSED, OUR_FAULT)


@transaction.atomic
def _launch_once(schedule: Schedule, now: datetime) -> bool:
    """False if another process was faster."""
    if not _move_on(schedule, now):
        return False
    if refusal := reason_to_stop(schedule):
        Schedule.objects.filter(pk=schedule.pk).update(
            is_on=False, next_due=None, stopped=refusal[:LONGEST]
        )
        record(AuditAction.SCHEDULE_PAUSED, schedule.configuration, refusal)
        _keep(schedule, now, DueOutcome.REFUSED, refusal)
    elif _is_missed(schedule, now) and not schedule.catches_up:
        _keep(schedule, now, DueOutcome.MISSED, "The site was down or maintained.")
    elif under_way := _run_under_way(schedule):
        state = under_way.get_state_display().lower()
        _keep(schedule, now, DueOutcome.SKIPPED, f"Run {under_way.pk} is still {state}.")
    else:
        _launch(schedule, now)
    return True


@transaction.atomic
def _close_due(schedule: Schedule, now: datetime, outcome: DueOutcome, told: str) -> bool:
    if not _move_on(schedule, now):
        return False
    _keep(schedule, now, outcome, told)
    return True


def _move_on(schedule: Schedule, now: datetime) -> bool:
    mine = _live_schedules().filter(pk=schedule.pk, next_due=schedule.next_due)
    following = next_due(schedule.cron, schedule.time_zone, now)
    return bool(mine.update(next_due=following))


def _launch(schedule: Schedule, now: datetime) -> None:
    stored, due = schedule.configuration, _newest(schedule, now)
    key = f"schedule-{schedule.pk}-{int(due.timestamp())}"
    source = Source(key, configuration=stored)
    try:
        check_author(schedule)
        run = create_run(schedule.owner, stored.as_document, source=source)
    except ConfigurationError as error:
        told = " ".join(problem.message for problem in error.problems)
        _keep(schedule, now, DueOutcome.REFUSED, told)
        return
    late = "Caught up after an outage." if _is_missed(schedule, now) else ""
    _keep(schedule, now, DueOutcome.LAUNCHED, late, run)


def check_author(schedule: Schedule) -> None:
    """Its runs have the rights of its owner. Whoever else may change its configuration must not
    borrow them: ConfigurationError if that person may not use all that they wrote into it."""
    stored = schedule.configuration
    newest = stored.versions.select_related("saved_by").order_by("-version").first()
    author = newest.saved_by if newest else None
    if author is None or author.pk == schedule.owner_id:
        return  # on the command line, who may read everything
    try:
        document = with_plain_line_ends(stored.as_document)
        configuration = read_with_library(document, prompts_for(author)).configuration
        source_of(configuration, datasets_to_run_on(author))
        refuse_written_code(author, configuration)
    except ConfigurationError as error:
        who = author.get_username()
        where = ", ".join(problem.path for problem in error.problems)
        told = (
            f"{who} saved its last change, and may not use all that it names ({where}). Share that "
            f"with {who}, or save a version of your own."
        )
        raise ConfigurationError([Problem("", told)]) from None


def reason_to_stop(schedule: Schedule) -> str:
    """Empty while its owner may launch its configuration."""
    owner: User = schedule.owner
    name = owner.get_username()
    if not owner.is_active:
        return f"The account of {name} is closed, so nothing is launched for it any more."
    if not may(owner, Permission.LAUNCH):
        return f"{name} may not launch runs any more."
    if not stored_configurations_for(owner).filter(pk=schedule.configuration_id).exists():
        return f"{name} may not see this configuration any more."
    return ""


def _newest(schedule: Schedule, now: datetime) -> datetime:
    """Of the due times that have come."""
    first = schedule.next_due or now
    return max(first, last_due(schedule.cron, schedule.time_zone, now))


def _is_missed(schedule: Schedule, now: datetime) -> bool:
    return now - _newest(schedule, now) > GRACE


def _run_under_way(schedule: Schedule) -> Run | None:
    """A second run of a schedule does not start beside the first."""
    times = DueTime.objects.filter(schedule=schedule, run__state__in=RunState.live())
    newest = times.select_related("run").order_by("-due").first()
    return newest.run if newest else None


def _keep(
    schedule: Schedule, now: datetime, outcome: DueOutcome, told: str, run: Run | None = None
) -> None:
    newest, first = _newest(schedule, now), schedule.next_due or now
    passed = count_due(schedule.cron, schedule.time_zone, first, newest, MOST_COUNTED)
    missed = passed if outcome == DueOutcome.MISSED else passed - 1
    if missed > 1 or (missed and outcome != DueOutcome.MISSED):
        told = f"{told} {counted(missed, 'due time')} passed unnoticed.".strip()
    DueTime.objects.create(
        schedule=schedule, due=newest, outcome=outcome, told=told[:LONGEST], missed=missed, run=run
    )
