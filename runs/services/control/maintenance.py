"""Pauses every run while somebody works on the installation, and lets the same ones go on after."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from runs.formatting import counted
from runs.models import AuditAction, Maintenance, Run, RunState
from runs.selectors.system.maintenance import PAUSED_FOR_MAINTENANCE, current_maintenance
from runs.services.audit import Subject, record
from runs.services.control.pauses import hold_run
from runs.services.control.resuming import resume_run
from workers.engine.errors import ConfigurationError

SITE = Subject("site")


@transaction.atomic
def begin_maintenance(user: AbstractBaseUser, reason: str = "") -> bool:
    """Start no more calls in any run; those in flight end and are stored. False if it had begun."""
    row, is_new = Maintenance.objects.get_or_create(
        pk=Maintenance.ONLY, defaults={"by": user.get_username(), "reason": reason.strip()[:200]}
    )
    if not is_new:
        return False
    record(AuditAction.MAINTENANCE_BEGUN, SITE, row.reason, actor=user)
    hold_for_maintenance()
    return True


@transaction.atomic
def end_maintenance(user: AbstractBaseUser) -> list[str]:
    """What to tell: how many runs go on, and which cannot, and why. What people had paused
    themselves stays so."""
    if not Maintenance.objects.filter(pk=Maintenance.ONLY).delete()[0]:
        return ["There was no maintenance."]
    record(AuditAction.MAINTENANCE_ENDED, SITE, actor=user)
    held = Run.objects.filter(state__in=RunState.held(), reason__startswith=PAUSED_FOR_MAINTENANCE)
    gone_on, left = 0, list[str]()
    for run in held.order_by("pk"):
        try:
            gone_on += resume_run(run, user)
        except ConfigurationError as error:
            why = " ".join(problem.message for problem in error.problems)
            left.append(f"Run {run.pk} stays paused. {why}")
    return [f"Maintenance is over; {counted(gone_on, 'run')} went on.", *left]


def hold_for_maintenance() -> None:
    """Runs that were launched, resumed or retried meanwhile are held too: the sweep asks."""
    row = current_maintenance()
    if row is None:
        return
    why = f": {row.reason}" if row.reason else ""
    for run_id in Run.objects.filter(state__in=RunState.going()).values_list("pk", flat=True):
        hold_run(run_id, f"{PAUSED_FOR_MAINTENANCE} by {row.by}{why}")
