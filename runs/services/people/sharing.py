"""Lets everybody on the site see a run, or no longer."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from runs.models import AuditAction, Run
from runs.services.audit import record
from runs.services.events import note


@transaction.atomic
def share_run(run: Run, user: AbstractBaseUser, *, is_shared: bool) -> bool:
    """False if it was so already."""
    others = Run.objects.filter(pk=run.pk).exclude(is_shared=is_shared)
    if not others.update(is_shared=is_shared):
        return False
    note(run, f"{user.get_username()} {'shared' if is_shared else 'stopped sharing'} this run.")
    record(AuditAction.RUN_SHARED if is_shared else AuditAction.RUN_UNSHARED, run, actor=user)
    return True
