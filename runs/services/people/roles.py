"""Adds people, gives and takes roles, closes and opens accounts, hands out links to choose a
password; and says in the log who did it to whom."""

import logging

from django.contrib.auth.models import AbstractBaseUser, Group, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from runs.access import get_person_for
from runs.models import AuditAction
from runs.roles import (
    Permission,
    Role,
    administrators,
    check_permission,
    forget_role,
    stored_role_of,
)
from runs.services.audit import record
from runs.services.people.passwords import PasswordLink, link_for
from runs.services.people.quotas import refresh_runs_of

logger = logging.getLogger(__name__)

MAIL_TAKEN = "There is an account with this mail address already."
NAME_TAKEN = "There is an account of this name already. Choose another name."
OWN_ACCOUNT = "Nobody changes or closes their own account. Ask another administrator."


@transaction.atomic
def add_person(
    admin: AbstractBaseUser, username: str, role: Role | None, mail: str = ""
) -> PasswordLink:
    """An account that nobody can sign in with until its owner has chosen a password at the link.
    ValidationError names the field that is wrong."""
    check_permission(User.objects.get(pk=admin.pk), Permission.MANAGE_PEOPLE)
    person = new_account(username, mail)
    person.set_unusable_password()
    person.save()
    record(AuditAction.PERSON_ADDED, person, actor=admin)
    _note(admin, f"added {person.get_username()}")
    return link_for(give_role(admin, person.pk, role))


def new_account(username: str, mail: str = "") -> User:
    """One that is not stored yet. ValidationError says why the name or the address does not do."""
    person = User(username=User.normalize_username(username.strip()), email=mail.strip().lower())
    if mail and User.objects.filter(email__iexact=person.email).exists():
        raise ValidationError({"email": MAIL_TAKEN})
    if User.objects.filter(username__iexact=person.username).exists():
        raise ValidationError({"username": NAME_TAKEN})
    person.full_clean(exclude=["password"])
    return person


@transaction.atomic
def make_password_link(admin: AbstractBaseUser, person_id: int) -> PasswordLink:
    """For somebody who forgot the password. The old one works until a new one is chosen."""
    person = _open(admin, person_id)
    if not person.is_active:
        raise PermissionDenied("This account is closed. Open it first.")
    record(AuditAction.PASSWORD_LINK_MADE, person, actor=admin)
    _note(admin, f"made a link with which {person.get_username()} chooses a password")
    return link_for(person)


@transaction.atomic
def give_role(admin: AbstractBaseUser, person_id: int, role: Role | None) -> User:
    """The one role that the account has from the next request on; None takes it away."""
    person = _open(admin, person_id)
    before = stored_role_of(person)
    put_into_role(person, role)
    moved = f"from {before or 'none'} to {role or 'none'}"
    record(AuditAction.ROLE_CHANGED, person, moved, actor=admin)
    _note(admin, f"gave {person.get_username()} the role {role or 'none'}")
    return person


def put_into_role(person: User, role: Role | None) -> None:
    """For services that have asked who decides about it, and record it."""
    person.groups.remove(*Group.objects.filter(name__in=list(Role)))
    if role is not None:
        person.groups.add(Group.objects.get_or_create(name=role.value)[0])
    person.is_staff = person.is_superuser = role == Role.ADMIN
    person.save(update_fields=["is_staff", "is_superuser"])
    forget_role(person)
    refresh_runs_of([person.pk])


@transaction.atomic
def set_active(admin: AbstractBaseUser, person_id: int, *, is_active: bool) -> User:
    """A closed account is signed out at its next request; its tokens are refused, its runs stay."""
    person = _open(admin, person_id)
    person.is_active = is_active
    person.save(update_fields=["is_active"])
    done = AuditAction.ACCOUNT_OPENED if is_active else AuditAction.ACCOUNT_CLOSED
    record(done, person, actor=admin)
    _note(admin, f"{'opened' if is_active else 'closed'} the account of {person.get_username()}")
    return person


def _open(admin: AbstractBaseUser, person_id: int) -> User:
    """The account of somebody else. Administrators change each other one at a time, so that two
    who close each other's accounts leave one: the second is no administrator any more."""
    list(User.objects.select_for_update().filter(pk__in=administrators().values("pk")))
    current = User.objects.get(pk=admin.pk)
    check_permission(current, Permission.MANAGE_PEOPLE)
    if person_id == admin.pk:
        raise PermissionDenied(OWN_ACCOUNT)
    return get_person_for(current, person_id)


def _note(admin: AbstractBaseUser, what: str) -> None:
    transaction.on_commit(lambda: logger.info("%s %s.", admin.get_username(), what))
