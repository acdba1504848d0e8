"""Says what a person, or everybody of a role, may use of the site."""

from collections.abc import Mapping

from django.contrib.auth.models import AbstractBaseUser, User
from django.core.exceptions import ValidationError
from django.db import transaction

from runs.access import get_person_for
from runs.models import AuditAction, PersonQuota, Run, RunState
from runs.roles import Permission, Role, check_permission
from runs.selectors.quotas import quota_of
from runs.services.audit import Subject, record

SMALLEST = {
    "trials_per_run": 1,
    "active_runs": 1,
    "slots": 1,
    "sockets": 1,
}  # of others 0 says: nothing


@transaction.atomic
def set_person_quota(
    admin: AbstractBaseUser, person_id: int, values: Mapping[str, float | None]
) -> User:
    """What holds for an account; None leaves a number to the role and the settings."""
    check_permission(admin, Permission.MANAGE_PEOPLE)
    person = get_person_for(admin, person_id)
    _check(values)
    PersonQuota.objects.update_or_create(person=person, defaults=dict(values))
    record(AuditAction.QUOTA_CHANGED, person, _values_text(values), actor=admin)
    refresh_runs_of([person.pk])
    return person


@transaction.atomic
def set_role_quota(admin: AbstractBaseUser, role: Role, values: Mapping[str, float | None]) -> None:
    check_permission(admin, Permission.MANAGE_PEOPLE)
    _check(values)
    PersonQuota.objects.update_or_create(role=role.value, defaults=dict(values))
    record(AuditAction.QUOTA_CHANGED, Subject("role", role), _values_text(values), actor=admin)
    live = Run.objects.filter(state__in=RunState.live())
    refresh_runs_of(list(live.order_by().values_list("owner_id", flat=True).distinct()))


def refresh_runs_of(person_ids: list[int]) -> None:
    """Runs under way keep to what holds now: their workers read it from the run."""
    for person in User.objects.filter(pk__in=person_ids):
        live = Run.objects.filter(owner=person, state__in=RunState.live())
        live.update(quota=quota_of(person).while_running)


def _check(values: Mapping[str, float | None]) -> None:
    errors = {
        name: f"Give {SMALLEST.get(name, 0)} or more, or nothing."
        for name, value in values.items()
        if value is not None and value < SMALLEST.get(name, 0)
    }
    if errors:
        raise ValidationError(errors)


def _values_text(values: Mapping[str, float | None]) -> str:
    said = [f"{name} {value:g}" for name, value in values.items() if value is not None]
    return ", ".join(said) or "nothing of its own"
