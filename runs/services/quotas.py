"""Refuses launches and imports that are more than a person may use, and says what to do."""

from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser, User
from django.db.models import F

from runs import formatting
from runs.models import Run, RunState, SpentOnDay
from runs.roles import whom_to_ask
from runs.selectors.quotas import (
    MEGABYTE,
    Quota,
    bytes_of,
    promised_to_runs,
    spent_on_day,
)
from workers.engine.errors import ConfigurationError, Problem


class QuotaExceeded(ConfigurationError):
    """What was asked for is more than the person may use. Says what to do."""


def lock_person(person: AbstractBaseUser) -> None:
    """Until the end of the transaction: of two launches the second sees the first. Rows that only
    refer to the account are not kept waiting."""
    list(User.objects.select_for_update(no_key=True).filter(pk=person.pk).values_list("pk"))


def check_runs(person: AbstractBaseUser, quota: Quota) -> None:
    """Before a launch, under the lock on the person."""
    going = Run.objects.filter(owner_id=person.pk, state__in=RunState.live()).count()
    if going >= quota.active_runs:
        raise _exceeded(
            f"You have {formatting.counted(going, 'run')} that {_has(going)} not ended, and "
            f"{quota.active_runs:,} {'is' if quota.active_runs == 1 else 'are'} allowed. "
            "Wait for one, or cancel one"
        )
    check_storage(person, quota, 0)


def check_size(quota: Quota, trials: int) -> None:
    """Of a run, by the product of its parts: nothing of it was built yet."""
    if trials > quota.trials_per_run:
        raise _exceeded(
            f"{trials:,} trials are more than the {quota.trials_per_run:,} that a run of yours may "
            "have. Take fewer cases, models, prompts or repeats"
        )


def check_dollars(person: AbstractBaseUser, quota: Quota, needed: float, now: datetime) -> None:
    """`needed`: what the run may cost by our own estimate, or its budget if that is less."""
    if quota.dollars_per_day is None:
        return
    spent, promised = spent_on_day(person.pk, now), promised_to_runs(person.pk)
    left = max(0.0, quota.dollars_per_day - spent - promised)
    if needed <= left and spent < quota.dollars_per_day:
        return
    promise = f" and runs under way may take {formatting.dollars(promised)}" if promised else ""
    raise _exceeded(
        f"This run may cost {formatting.dollars(needed)}. Of your "
        f"{formatting.dollars(quota.dollars_per_day)} a day {formatting.dollars(spent)} are used"
        f"{promise}, so {formatting.dollars(left)} are left. Take fewer cases, set a budget of at "
        "most that, wait until midnight UTC"
    )


def check_storage(person: AbstractBaseUser, quota: Quota, more: int) -> None:
    if quota.stored_megabytes is None:
        return
    most, used = quota.stored_megabytes * MEGABYTE, bytes_of(person.pk)
    if used + more > most or used >= most:
        raise _exceeded(
            f"Your runs, datasets, prompts and configurations take {formatting.file_size(used)}"
            f"{f', and this takes {formatting.file_size(more)}' if more else ''}; "
            f"{formatting.file_size(most)} are allowed. Delete datasets or prompts that "
            "you no longer need"
        )


def keep_spent(run: Run) -> None:
    """Call it in the transaction that removes the run: what it cost on its last day stays spent."""
    dollars = run.cost - run.cost_before_day
    if run.cost_day is None or dollars <= 0:
        return
    row, _ = SpentOnDay.objects.get_or_create(person_id=run.owner_id, day=run.cost_day)
    SpentOnDay.objects.filter(pk=row.pk).update(dollars=F("dollars") + dollars)


def _exceeded(told: str) -> QuotaExceeded:
    return QuotaExceeded([Problem("", f"{told}, or ask {whom_to_ask()} to raise your quota.")])


def _has(number: int) -> str:
    return "has" if number == 1 else "have"
