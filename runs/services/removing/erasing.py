"""Erases a dataset or a person with everything that came of them.

Runs go a few rows at a time, as in retention.py; the dataset or the account itself goes last, so
that an erasure that was cut off is taken up by asking for it again."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.db.models import QuerySet
from django.utils.timezone import now

from runs.formatting import counted
from runs.models import (
    ANSWER_TABLES,
    AuditAction,
    Benchmark,
    Configuration,
    Dataset,
    DryRun,
    Prompt,
    Run,
    RunState,
)
from runs.selectors.erasures import (
    PRIVATE,
    Erasure,
    dataset_erasure,
    obstacle_to_erasing_dataset,
    obstacle_to_erasing_person,
    person_erasure,
    private_configurations,
    private_datasets,
    private_runs,
    sessions_of,
    versions_to_erase,
)
from runs.services.audit import Subject, record
from runs.services.removing.archiving import InUseError, delete_rows, remove_unused_made_cases
from runs.services.removing.retention import delete_some_answers, remove_run

MEANWHILE = "A run was started meanwhile. Cancel it, and erase again."
HANDED_OVER: tuple[type[models.Model], ...] = (Run, Dataset, Prompt, Configuration, Benchmark)


def erase_dataset(user: AbstractBaseUser, dataset: Dataset) -> Erasure:
    """All versions, the runs on them with their scores, and the answers that these runs paid for.
    InUseError says what is in the way; then nothing was erased."""
    found, versions = dataset_erasure(dataset), versions_to_erase(dataset)
    _close_dataset(user, dataset)
    _erase_runs(Run.objects.filter(dataset__in=versions), f"erased with its dataset {dataset.name}")
    _erase_tried(DryRun.objects.filter(dataset__in=versions))
    with transaction.atomic():
        for version in versions.select_for_update():
            _delete_unused(version)
        told = f"erased with {counted(found.erased['runs'], 'run')}"
        record(AuditAction.DATASET_REMOVED, Subject("dataset", dataset.name), told, actor=user)
    return found


def erase_person(person: User, heir: AbstractBaseUser) -> Erasure:
    """The account with all that was its own; what others see of it becomes the heir's. InUseError
    says what is in the way; then nothing was erased."""
    found = person_erasure(person)
    _close_account(person, heir)
    _erase_runs(private_runs(person), "erased with its owner")
    _erase_tried(DryRun.objects.filter(owner=person))
    for dataset in private_datasets(person):
        with transaction.atomic():
            _delete_unused(dataset)
    remove_unused_made_cases()
    _remove_account(person, heir)
    return found


@transaction.atomic
def _close_dataset(user: AbstractBaseUser, dataset: Dataset) -> None:
    """From here on no run is started on it."""
    versions = versions_to_erase(dataset)
    list(versions.select_for_update())
    if obstacle := obstacle_to_erasing_dataset(user, dataset):
        raise InUseError(obstacle)
    versions.update(archived=now())


@transaction.atomic
def _close_account(person: User, heir: AbstractBaseUser) -> None:
    """From here on it starts nothing: it cannot sign in, and its tokens are refused. One at a time,
    so that two administrators do not erase each other."""
    list(User.objects.select_for_update().order_by("pk"))
    if obstacle := obstacle_to_erasing_person(person, heir):
        raise InUseError(obstacle)
    User.objects.filter(pk=person.pk).update(is_active=False)


def _erase_runs(runs: QuerySet[Run], why: str) -> None:
    ended = runs.exclude(state__in=RunState.live())
    for run_id in list(runs.order_by("pk").values_list("pk", flat=True)):
        remove_run(run_id, ended, why, delete_some_answers)


def _erase_tried(dry_runs: QuerySet[DryRun]) -> None:
    """The answers that were asked for before a launch. Those that a run has paid for since stay."""
    for keys in dry_runs.values_list("reply_keys", flat=True):
        for model in ANSWER_TABLES:
            model._default_manager.filter(key__in=keys, run=None).delete()
    dry_runs.update(reply_keys=[])


def _delete_unused(dataset: Dataset) -> None:
    if dataset.runs.exists():
        raise InUseError(MEANWHILE)
    delete_rows(dataset)


@transaction.atomic
def _remove_account(person: User, heir: AbstractBaseUser) -> None:
    User.objects.select_for_update().get(pk=person.pk)
    if private_runs(person).exists():
        raise InUseError(MEANWHILE)
    private_configurations(person).delete()
    Prompt.objects.filter(PRIVATE, owner=person).delete()
    Run.objects.filter(owner=person).update(idempotency_key=None)  # the heir may have the same
    for model in HANDED_OVER:
        model._default_manager.filter(owner=person).update(owner=heir)
    Session.objects.filter(session_key__in=sessions_of(person)).delete()
    about: dict[str, Any] = {"content_type": ContentType.objects.get_for_model(User)}
    LogEntry.objects.filter(**about, object_id=str(person.pk)).delete()
    record(AuditAction.PERSON_ERASED, person, actor=heir)
    person.delete()
