"""Deletes configurations, brings them back, and removes them when the time for that is over.

A deleted one keeps its versions, schedule and gates, but launches nothing and holds its name. Runs
made from it keep their own copy, whatever becomes of it."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models.functions import Now
from django.utils.timezone import now

from runs.cron import next_due
from runs.models import AuditAction, Configuration, Schedule
from runs.services.audit import record
from runs.services.removing.archiving import OVER, removal_date, until


@transaction.atomic
def delete_configuration(stored: Configuration, user: AbstractBaseUser) -> bool:
    """Give it the date of its removal. False if it was deleted already."""
    there, moment = Configuration.objects.filter(pk=stored.pk, remove_after=None), removal_date()
    if not there.update(remove_after=moment):
        return False
    record(AuditAction.CONFIGURATION_DELETED, stored, until(moment), actor=user)
    return True


@transaction.atomic
def restore_configuration(stored: Configuration, user: AbstractBaseUser | None) -> bool:
    """With its schedule. False if it was not deleted."""
    deleted = Configuration.objects.filter(pk=stored.pk, remove_after__isnull=False)
    if not deleted.update(remove_after=None):
        return False
    _forget_passed_times(stored)
    record(AuditAction.CONFIGURATION_RESTORED, stored, actor=user)
    return True


def _forget_passed_times(stored: Configuration) -> None:
    """What was due while it was deleted was not missed, so nothing is caught up."""
    schedule = Schedule.objects.filter(configuration=stored, is_on=True).first()
    if schedule is not None:
        schedule.next_due = next_due(schedule.cron, schedule.time_zone, now())
        schedule.save(update_fields=["next_due"])


@transaction.atomic
def remove_configuration(
    stored: Configuration, user: AbstractBaseUser | None = None, why: str = ""
) -> None:
    """For good, with its versions, schedule and gates. Without a user its time was over, or an
    administrator did it."""
    record(AuditAction.CONFIGURATION_REMOVED, stored, why, actor=user)
    stored.delete()


def remove_due_configuration() -> None:
    """One whose time to be brought back is over; every sweep asks."""
    due = Configuration.objects.filter(remove_after__lte=Now())
    found = due.values_list("pk", flat=True).first()
    if found is None:
        return
    with transaction.atomic():
        stored = due.select_for_update().filter(pk=found).first()
        if stored is not None:  # else somebody brought it back, or removed it first
            remove_configuration(stored, None, OVER)
