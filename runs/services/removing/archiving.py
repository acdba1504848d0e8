"""Deletes datasets and endpoints that nothing uses, archives the others, and brings them back.

What is archived is offered for no new run; runs and retries go on with it. What is deleted is
archived with a date, after which the sweep removes it: until then it can be brought back."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
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

OVER = "its time to be brought back is over"


class InUseError(Exception):
    """It is not deleted, because something uses it."""


def removal_date() -> datetime:
    """Of what is deleted now."""
    return now() + timedelta(days=settings.TRASH_DAYS)


@transaction.atomic
def delete_endpoint(user: Person, endpoint: Endpoint) -> bool:
    """Archive it with the date of its removal. False if it was deleted already, InUseError while a
    run or a configuration names it."""
    check_permission(user, Permission.EDIT_ENDPOINTS)
    _refuse_used(endpoint.name, dependents_of_endpoint(endpoint))
    there, moment = Endpoint.objects.filter(pk=endpoint.pk, remove_after=None), removal_date()
    if not there.update(archived=now(), remove_after=moment):
        return False
    record(AuditAction.ENDPOINT_DELETED, endpoint, until(moment), actor=user)
    return True


@transaction.atomic
def remove_endpoint(user: Person | None, endpoint: Endpoint, why: str = "") -> None:
    """For good, with its key. InUseError while a run or a configuration names it. Without a user
    its time was over."""
    if user is not None:
        check_permission(user, Permission.EDIT_ENDPOINTS)
    _refuse_used(endpoint.name, dependents_of_endpoint(endpoint))
    record(AuditAction.ENDPOINT_REMOVED, endpoint, why, actor=user)
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
    if not archived.update(archived=None, remove_after=None):
        return False
    record(AuditAction.ENDPOINT_RESTORED, endpoint, actor=user)
    return True


@transaction.atomic
def delete_dataset(user: Person, name: str) -> bool:
    """Archive all versions with the date of their removal. False if it was deleted already,
    InUseError while something uses one of them."""
    check_permission(user, Permission.IMPORT)
    _refuse_used(name, dependents_of_dataset(name))
    there, moment = Dataset.objects.filter(name=name, remove_after=None), removal_date()
    if not there.update(archived=now(), remove_after=moment):
        return False
    record(AuditAction.DATASET_DELETED, Subject("dataset", name), until(moment), actor=user)
    return True


@transaction.atomic
def remove_dataset(user: Person | None, name: str, why: str = "") -> int:
    """All versions for good; tell how many. InUseError while something uses one of them. Without a
    user its time was over."""
    if user is not None:
        check_permission(user, Permission.IMPORT)
    _refuse_used(name, dependents_of_dataset(name))
    versions = list(Dataset.objects.filter(name=name))
    for version in versions:
        delete_rows(version)
    if versions:
        told = f"all versions: {len(versions)}{f', {why}' if why else ''}"
        record(AuditAction.DATASET_REMOVED, Subject("dataset", name), told, actor=user)
    return len(versions)


@transaction.atomic
def delete_version(user: Person, dataset: Dataset) -> None:
    """Remove one version, at once: another one takes its place. InUseError while something uses
    it."""
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
    if not archived.update(archived=None, remove_after=None):
        return False
    record(AuditAction.DATASET_RESTORED, Subject("dataset", name), actor=user)
    return True


def remove_due_parts() -> None:
    """A dataset and an endpoint whose time to be brought back is over; every sweep asks. What came
    into use meanwhile stays archived."""
    _remove_due_dataset()
    _remove_due_endpoint()


def _remove_due_dataset() -> None:
    name = Dataset.objects.filter(remove_after__lte=Now()).values_list("name", flat=True).first()
    if name is None:
        return
    with transaction.atomic():
        due = Dataset.objects.select_for_update().filter(name=name, remove_after__lte=Now())
        if not list(due):
            return  # somebody brought it back, or removed it first
        if dependents_of_dataset(name):
            due.update(remove_after=None)
        else:
            remove_dataset(None, name, OVER)


def _remove_due_endpoint() -> None:
    found = Endpoint.objects.filter(remove_after__lte=Now()).values_list("pk", flat=True).first()
    if found is None:
        return
    with transaction.atomic():
        due = Endpoint.objects.select_for_update().filter(pk=found, remove_after__lte=Now())
        endpoint = due.first()
        if endpoint is None:
            return
        if dependents_of_endpoint(endpoint):
            due.update(remove_after=None)
        else:
            remove_endpoint(None, endpoint, OVER)


def until(moment: datetime) -> str:
    """For the audit log."""
    return f"removed after {moment:%Y-%m-%d %H:%M} UTC"


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
