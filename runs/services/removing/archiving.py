"""Deletes datasets and endpoints that nothing uses, archives the others, and brings them back.

What is archived is offered for no new run; runs and retries go on with it."""

from django.db import transaction
from django.utils.timezone import now

from runs.models import AuditAction, Case, Dataset, Endpoint
from runs.roles import Permission, Person, check_permission
from runs.selectors.dependents import (
    Dependents,
    dependents_of_dataset,
    dependents_of_endpoint,
    dependents_of_version,
)
from runs.services.audit import Subject, record


class InUseError(Exception):
    """It is not deleted, because something uses it."""


@transaction.atomic
def delete_endpoint(user: Person, endpoint: Endpoint) -> None:
    """Remove an endpoint and its key. InUseError while a run or a configuration names it."""
    check_permission(user, Permission.EDIT_ENDPOINTS)
    _refuse_used(endpoint.name, dependents_of_endpoint(endpoint))
    record(AuditAction.ENDPOINT_REMOVED, endpoint, actor=user)
    endpoint.delete()


@transaction.atomic
def archive_endpoint(user: Person, endpoint: Endpoint) -> bool:
    """False if it was archived already."""
    check_permission(user, Permission.EDIT_ENDPOINTS)
    open_one = Endpoint.objects.filter(pk=endpoint.pk, archived=None)
    if not open_one.update(archived=now()):
        return False
    record(AuditAction.ENDPOINT_ARCHIVED, endpoint, actor=user)
    return True


@transaction.atomic
def restore_endpoint(user: Person, endpoint: Endpoint) -> bool:
    """False if it was not archived."""
    check_permission(user, Permission.EDIT_ENDPOINTS)
    archived = Endpoint.objects.filter(pk=endpoint.pk, archived__isnull=False)
    if not archived.update(archived=None):
        return False
    record(AuditAction.ENDPOINT_RESTORED, endpoint, actor=user)
    return True


@transaction.atomic
def delete_dataset(user: Person, name: str) -> int:
    """Remove all versions; tell how many. InUseError while something uses one of them."""
    check_permission(user, Permission.IMPORT)
    _refuse_used(name, dependents_of_dataset(name))
    versions = list(Dataset.objects.filter(name=name))
    for version in versions:
        delete_rows(version)
    if versions:
        told = f"all versions: {len(versions)}"
        record(AuditAction.DATASET_REMOVED, Subject("dataset", name), told, actor=user)
    return len(versions)


@transaction.atomic
def delete_version(user: Person, dataset: Dataset) -> None:
    """Remove one version. InUseError while something uses it."""
    check_permission(user, Permission.IMPORT)
    _refuse_used(str(dataset), dependents_of_version(dataset))
    record(AuditAction.DATASET_REMOVED, dataset, actor=user)
    delete_rows(dataset)


@transaction.atomic
def archive_dataset(user: Person, name: str) -> bool:
    """All versions: an older one must not take the place of the newest. False: it was already."""
    check_permission(user, Permission.IMPORT)
    if not Dataset.objects.filter(name=name, archived=None).update(archived=now()):
        return False
    record(AuditAction.DATASET_ARCHIVED, Subject("dataset", name), actor=user)
    return True


@transaction.atomic
def restore_dataset(user: Person, name: str) -> bool:
    """False if it was not archived."""
    check_permission(user, Permission.IMPORT)
    archived = Dataset.objects.filter(name=name, archived__isnull=False)
    if not archived.update(archived=None):
        return False
    record(AuditAction.DATASET_RESTORED, Subject("dataset", name), actor=user)
    return True


def remove_unused_made_cases() -> None:
    """The cases that were made for runs, once the last of their runs is removed."""
    for dataset_id in Dataset.objects.filter(is_hidden=True, runs=None).values_list(
        "pk", flat=True
    ):
        with transaction.atomic():
            locked = Dataset.objects.select_for_update().filter(pk=dataset_id).first()
            if locked is not None and not locked.runs.exists():
                delete_rows(locked)


def delete_rows(dataset: Dataset) -> None:
    """A version that no run uses."""
    # Straight, as Django would look for the scores of every single case. There are none: a score
    # belongs to a run, and no run uses this version.
    cases = Case.objects.filter(dataset=dataset)
    cases._raw_delete(cases.db)
    dataset.delete()


def _refuse_used(name: str, dependents: Dependents) -> None:
    if dependents:
        raise InUseError(f"{name} is used by {dependents.text}. Archive it instead.")
