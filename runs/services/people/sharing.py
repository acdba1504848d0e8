"""Lets everybody on the site, or a team, see a run, a dataset, a prompt or a configuration; or
nobody any more."""

from functools import partial
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet

from runs.live import publish
from runs.models import AuditAction, Configuration, Dataset, Prompt, Run, Team
from runs.services.audit import Subject, record
from runs.services.events import note


@transaction.atomic
def share_run(
    run: Run, user: AbstractBaseUser, *, is_shared: bool, team: Team | None = None
) -> bool:
    """With everybody, with a team, or with nobody. False if it was so already."""
    if not _change(Run.objects.filter(pk=run.pk), is_shared, team):
        return False
    shared = f"shared this run{_with(team)}" if is_shared or team else "stopped sharing this run"
    note(run, f"{user.get_username()} {shared}.")
    did = AuditAction.RUN_SHARED if is_shared or team else AuditAction.RUN_UNSHARED
    record(did, run, _with(team).strip(), actor=user)
    transaction.on_commit(partial(publish, run.pk, always=True))  # open pages ask who may look
    return True


@transaction.atomic
def share_dataset(
    dataset: Dataset,
    user: AbstractBaseUser | None,
    *,
    is_shared: bool,
    team: Team | None = None,
) -> bool:
    """All its versions. False if it was so already. Runs on it go on; of those that are shared the
    results stay in sight."""
    if not _change(Dataset.objects.filter(name=dataset.name), is_shared, team):
        return False
    dataset.is_shared, dataset.team = is_shared, team
    did = AuditAction.DATASET_SHARED if is_shared or team else AuditAction.DATASET_UNSHARED
    record(did, Subject("dataset", dataset.name), _with(team).strip(), actor=user)
    return True


@transaction.atomic
def share_prompt(
    prompt: Prompt,
    user: AbstractBaseUser | None,
    *,
    is_shared: bool,
    team: Team | None = None,
) -> bool:
    """All its versions. False if it was so already. Runs keep what they froze."""
    if not _change(Prompt.objects.filter(name=prompt.name), is_shared, team):
        return False
    prompt.is_shared, prompt.team = is_shared, team
    did = AuditAction.PROMPT_SHARED if is_shared or team else AuditAction.PROMPT_UNSHARED
    record(did, Subject("prompt", prompt.name), _with(team).strip(), actor=user)
    return True


@transaction.atomic
def share_configuration(
    stored: Configuration,
    user: AbstractBaseUser | None,
    *,
    is_shared: bool,
    team: Team | None = None,
) -> bool:
    """In all its versions. False if it was so already. Runs of it stay as they are."""
    if not _change(Configuration.objects.filter(pk=stored.pk), is_shared, team):
        return False
    stored.is_shared, stored.team = is_shared, team
    shared, unshared = AuditAction.CONFIGURATION_SHARED, AuditAction.CONFIGURATION_UNSHARED
    record(shared if is_shared or team else unshared, stored, _with(team).strip(), actor=user)
    return True


def _change(rows: QuerySet[Any], is_shared: bool, team: Team | None) -> int:
    others = rows.exclude(is_shared=is_shared, team=team)
    return others.update(is_shared=is_shared, team=team)


def _with(team: Team | None) -> str:
    return f" with the team {team.name}" if team else ""
