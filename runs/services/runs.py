"""Starts and stops runs."""

from functools import partial
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.timezone import now

from runs.access import datasets_to_run_on, prompts_for
from runs.live import publish
from runs.models import (
    AuditAction,
    ChunkState,
    Dataset,
    Endpoint,
    EventLevel,
    Run,
    RunState,
)
from runs.models import Configuration as StoredConfiguration
from runs.selectors.case_sources import (
    named_dataset,
    source_of,
    stored_positions,
    with_slice,
)
from runs.selectors.estimates.estimate import measure
from runs.selectors.named_parts import refuse_archived, refuse_webhooks, refuse_written_code
from runs.selectors.prompts import read_with_library
from runs.selectors.quotas import quota_of
from runs.selectors.runs.planned import planned_text
from runs.selectors.runs.ran_on import facts_at_launch
from runs.services.audit import record
from runs.services.chunks.candidates import store_candidates
from runs.services.datasets.storing import DatasetError, store_made_cases, store_pasted_rows
from runs.services.events import note
from runs.services.gating import open_gate
from runs.services.quotas import check_dollars, check_runs, check_size, lock_person
from runs.services.webhooks import announce_end
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.checks import check_against
from workers.engine.spec.configuration import Configuration, count_trials, with_expected
from workers.engine.spec.expected import guess_expected
from workers.engine.spec.line_ends import with_plain_line_ends
from workers.queue import enqueue_advance


class OtherRequestError(Exception):
    """The idempotency key was used for another request; nothing was started."""


class Source(NamedTuple):
    """What a run is made from, besides its document."""

    key: str = ""  # of the same owner: the same run, however often it is sent
    request_digest: str = ""  # of the request with the key; another one is refused
    configuration: StoredConfiguration | None = None
    rerun_of: Run | None = None
    rerun_what: str = ""  # as in "37 wrong trials"


def create_run(
    owner: AbstractBaseUser, document: dict[str, Any], key: str = "", source: Source | None = None
) -> Run:
    """Accept a run. Raises ConfigurationError with every problem, and OtherRequestError for a key
    that belongs to another request; then nothing was stored."""
    made_from = source or Source(key)
    if earlier := _earlier(owner, made_from):
        return earlier
    document = with_plain_line_ends(document)
    read = read_with_library(document, prompts_for(owner))
    try:
        return _store_run(owner, read.configuration, read.document, made_from)
    except (IntegrityError, ConfigurationError):
        if twin := _earlier(owner, made_from):  # it was faster
            return twin
        raise


def _earlier(owner: AbstractBaseUser, source: Source) -> Run | None:
    if not source.key:
        return None
    run = Run.objects.filter(owner_id=owner.pk, idempotency_key=source.key).first()
    if run and source.request_digest and run.request_digest != source.request_digest:
        raise OtherRequestError(
            "This Idempotency-Key was sent with another request before. Send the same body, or "
            "another key."
        )
    return run


@transaction.atomic
def _store_run(
    owner: AbstractBaseUser, configuration: Configuration, document: dict[str, Any], source: Source
) -> Run:
    lock_person(owner)
    quota = quota_of(owner)
    check_runs(owner, quota)
    dataset = _dataset_of(configuration, owner)
    configuration = with_expected(configuration, _expected_of(configuration, dataset))
    configuration = with_slice(configuration, dataset)
    cases = len(stored_positions(dataset, configuration.dataset, configuration.seed))
    endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.all()}
    refuse_archived(configuration, dataset, endpoints)
    refuse_written_code(owner, configuration)
    refuse_webhooks(configuration)
    check_against(
        configuration,
        endpoints={name: endpoint.prices for name, endpoint in endpoints.items()},
        columns=dataset.columns,
        cases=cases,
    )
    ranked = configuration.count_ranked(cases)
    planned = count_trials(configuration, ranked)
    others = configuration.count_told(ranked) + configuration.count_confirming(cases)
    check_size(quota, planned + others)
    is_capped = quota.dollars_per_day is not None
    promised = _dollars_of(owner, configuration, endpoints) if is_capped else 0.0
    check_dollars(owner, quota, promised, now())
    run = Run.objects.create(
        owner_id=owner.pk,
        name=configuration.name,
        kind=configuration.kind,
        document={**document, **_frozen(configuration, dataset)},
        dataset=dataset,
        snapshot_of=facts_at_launch(configuration, endpoints, cases, dataset.rows).model_dump(),
        configuration=source.configuration,
        configuration_version=source.configuration.version if source.configuration else None,
        rerun_of=source.rerun_of,
        rerun_what=source.rerun_what,
        idempotency_key=source.key or None,
        request_digest=source.request_digest,
        seed=configuration.seed,
        priority=configuration.priority,
        planned=planned,
        promised=promised,
        quota=quota.while_running,
        reason="Waiting for a worker.",
    )
    open_gate(run, source.configuration)
    store_candidates(run, configuration.make_candidates())
    note(run, f"Queued: {planned_text(run)} on {dataset}.")
    if source.rerun_of is not None:
        told = f"{source.rerun_what} of run {source.rerun_of.pk}, as run {run.pk}"
        record(AuditAction.RUN_RERUN, source.rerun_of, told, actor=owner)
        note(source.rerun_of, f"{owner.get_username()} reran {told}.")
    record(AuditAction.RUN_LAUNCHED, run, f"{planned_text(run)} on {dataset}", actor=owner)
    transaction.on_commit(partial(enqueue_advance, run.pk))
    return run


def _dollars_of(
    owner: AbstractBaseUser, configuration: Configuration, endpoints: dict[str, Endpoint]
) -> float:
    """What it may cost by our own estimate; no client says that. It pauses at its budget."""
    source = source_of(configuration, datasets_to_run_on(owner))
    measured = measure(configuration, source, endpoints).dollars
    return min(measured, configuration.budget.dollars or measured)


def _dataset_of(configuration: Configuration, owner: AbstractBaseUser) -> Dataset:
    choice = configuration.dataset
    made = configuration.make_cases() if choice is None else None
    if made is not None:
        return store_made_cases(configuration.kind, made)
    if choice and choice.rows is not None:
        return _store_given_rows(owner, choice.rows)
    return named_dataset(choice, datasets_to_run_on(owner))


def _expected_of(configuration: Configuration, dataset: Dataset) -> str:
    """Of rows given in place by their names alone, whatever was said of equal rows before."""
    choice = configuration.dataset
    is_given = choice is None or choice.rows is not None
    return guess_expected(dataset.columns) if is_given else dataset.expected_column


def _frozen(configuration: Configuration, dataset: Dataset) -> dict[str, Any]:
    """What a document may leave open: the version of the dataset, and its expected answer."""
    frozen: dict[str, Any] = {"expected": configuration.expected}
    if configuration.dataset is not None:
        name = f"{dataset.name}@{dataset.version}"
        part = configuration.dataset.slice_document()
        frozen["dataset"] = {"name": name, **part} if part else name
    return frozen


def _store_given_rows(owner: AbstractBaseUser, rows: list[dict[str, str]]) -> Dataset:
    try:
        return store_pasted_rows(owner, rows)
    except DatasetError as error:
        raise ConfigurationError(
            [Problem(f"dataset.rows.{p.line}", p.message) for p in error.problems]
        ) from None


@transaction.atomic
def cancel_run(run: Run, user: AbstractBaseUser | None = None) -> bool:
    """Stop a live run; what is scored stays. False if it had already finished. Without a user it
    was cancelled from the server's own command line."""
    live = Run.objects.filter(pk=run.pk, state__in=RunState.live())
    who = user.get_username() if user else "the command line"
    reason = f"Cancelled by {who}."
    if not live.update(state=RunState.CANCELLED, reason=reason, ended=Now()):
        return False  # a worker finished it first
    _end(run, reason, EventLevel.WARNING)
    record(AuditAction.RUN_CANCELLED, run, actor=user)
    return True


@transaction.atomic
def fail_run(run: Run, reason: str) -> bool:
    """Give a run up, saying why. False if it had already finished."""
    live = Run.objects.filter(pk=run.pk, state__in=RunState.live())
    if not live.update(state=RunState.FAILED, reason=reason[:300], ended=Now()):
        return False
    _end(run, reason, EventLevel.ERROR)
    return True


def _end(run: Run, message: str, level: EventLevel) -> None:
    """Its workers notice at their next write: their leases are gone."""
    run.chunks.exclude(state=ChunkState.DONE).update(state=ChunkState.CANCELLED)
    note(run, message, level)
    announce_end(run)
    transaction.on_commit(partial(publish, run.pk, always=True))
