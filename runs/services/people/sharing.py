"""Lets everybody on the site see a run or a dataset, or no longer."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from runs.models import AuditAction, Dataset, Run
from runs.services.audit import Subject, record
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


@transaction.atomic
def share_dataset(dataset: Dataset, user: AbstractBaseUser | None, *, is_shared: bool) -> bool:
    """All its versions. False if it was so already. Runs on it go on; of those that are shared the
    results stay in sight."""
    others = Dataset.objects.filter(name=dataset.name).exclude(is_shared=is_shared)
    if not others.update(is_shared=is_shared):
        return False
    dataset.is_shared = is_shared
    did = AuditAction.DATASET_SHARED if is_shared else AuditAction.DATASET_UNSHARED
    record(did, Subject("dataset", dataset.name), actor=user)
    return True
