"""Lets paused runs go on."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from runs.live import publish
from runs.models import AuditAction, Run, RunState
from runs.selectors.limits.limits import configuration_now, waiting_reason
from runs.selectors.quotas import quota_of
from runs.selectors.system.maintenance import current_maintenance
from runs.services.audit import record
from runs.services.chunks.planning import send_pending
from runs.services.control.budgets import refuse_if_spent
from runs.services.control.limits import retune_run
from runs.services.events import note
from workers.engine.errors import ConfigurationError, Problem
from workers.queue import enqueue_advance


@transaction.atomic
def retune_and_resume(
    run: Run, user: AbstractBaseUser, changes: Mapping[str, Any], reason: str = ""
) -> bool:
    """Change limits and let the run go on, both or neither. False if it was not paused.

    Raises ConfigurationError with every problem, BudgetSpent if the budgets are still too low.
    """
    retune_run(run, user, changes, reason)
    return resume_run(run, user)


@transaction.atomic
def resume_run(run: Run, user: AbstractBaseUser) -> bool:
    """Let a run go on where it was. False if it was not paused.

    Raises BudgetSpent while its budget is used up (raise it first), ConfigurationError during
    maintenance.
    """
    paused = Run.objects.select_for_update().filter(pk=run.pk, state__in=RunState.held())
    held = paused.annotate(clock=Now()).first()
    if held is None:
        return False
    refuse_during_maintenance()
    held.quota = quota_of(held.owner).while_running  # it may have been raised meanwhile
    refuse_if_spent(held, held.clock)
    has_begun = held.started is not None
    waits_for = "" if has_begun else "Waiting for a worker."
    changes = {"going_since": Now()} if has_begun and held.going_since is None else {}
    Run.objects.filter(pk=held.pk).update(
        state=RunState.RUNNING if has_begun else RunState.QUEUED,
        reason=waiting_reason(configuration_now(held)) or waits_for,
        drops_calls=False,
        spent_budgets={},
        quota=held.quota,
        version=F("version") + 1,
        **changes,
    )
    note(held, f"Resumed by {user.get_username()}.")
    record(AuditAction.RUN_RESUMED, held, actor=user)
    transaction.on_commit(partial(enqueue_advance, held.pk))
    transaction.on_commit(partial(send_pending, [held.pk]))
    transaction.on_commit(partial(publish, held.pk, always=True))
    return True


def refuse_during_maintenance() -> None:
    row = current_maintenance()
    if row is not None:
        told = f"{row.by} paused all runs for maintenance. They go on by themselves when it ends."
        raise ConfigurationError([Problem("", told)])
