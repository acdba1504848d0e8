"""Archives and deletes runs, and brings them back.

What is deleted is archived with a date: until then it can be brought back, after that the sweep
removes it a few rows at a time."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from runs.models import AuditAction, Run, RunState
from runs.services.audit import record
from runs.services.removing.archiving import (
    InUseError,
    removal_date,
    remove_unused_made_cases,
    until,
)
from runs.services.removing.retention import due_runs, free_some_answers, remove_part


@transaction.atomic
def archive_run(run: Run, user: AbstractBaseUser) -> bool:
    """Take it out of lists. False if it was archived already, InUseError while it goes on."""
    _refuse_live(run)
    if not _ended(run).filter(archived=None).update(archived=Now()):
        return False
    record(AuditAction.RUN_ARCHIVED, run, actor=user)
    return True


@transaction.atomic
def delete_run(run: Run, user: AbstractBaseUser | None, why: str = "") -> bool:
    """Archive it with the date of its removal. False if it was deleted already, InUseError while
    it goes on."""
    _refuse_live(run)
    moment = removal_date()
    waiting = _ended(run).filter(remove_after=None)
    if not waiting.update(archived=Now(), remove_after=moment):
        return False
    told = until(moment)
    record(AuditAction.RUN_DELETED, run, f"{why}; {told}" if why else told, actor=user)
    return True


@transaction.atomic
def restore_run(run: Run, user: AbstractBaseUser) -> bool:
    """False if it was neither archived nor deleted, InUseError when its removal has begun."""
    gone = Run.objects.filter(pk=run.pk, archived__isnull=False)
    if gone.filter(remove_after__lte=Now()).exists():
        raise InUseError(f"{run} is being removed already, so it cannot be brought back.")
    if not gone.exclude(remove_after__lte=Now()).update(archived=None, remove_after=None):
        return False
    record(AuditAction.RUN_RESTORED, run, actor=user)
    return True


def remove_due() -> bool:
    """Some rows of a run whose time has come. Every sweep asks, so that workers write in between.
    False if there was nothing to do."""
    run_id = due_runs().order_by("remove_after", "pk").values_list("pk", flat=True).first()
    if run_id is None:
        return False
    why = "deleted before, and its time to be brought back is over"
    is_some = remove_part(run_id, due_runs(), why, free_some_answers)
    if not Run.objects.filter(pk=run_id).exists():
        remove_unused_made_cases()
    return is_some


def _ended(run: Run) -> QuerySet[Run]:
    return Run.objects.filter(pk=run.pk).exclude(state__in=RunState.live())


def _refuse_live(run: Run) -> None:
    if not _ended(run).exists():
        raise InUseError(f"{run} has not ended. Cancel it first.")
