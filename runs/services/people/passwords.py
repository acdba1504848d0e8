"""Passwords: a person changes their own; somebody without one chooses it at a one-time link.

Sessions and remembered devices hold a hash of the password, so a new one ends them all.
"""

from typing import NamedTuple

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.urls import reverse

from runs.models import AuditAction
from runs.services.audit import record
from runs.services.people.sign_in import check_own_password

NOT_YOURS = "This is not your password. Type the one you signed in with."
SAME_AGAIN = "This is the password you have. Choose another one."


class PasswordLink(NamedTuple):
    """Where one person chooses a password, once. Whoever opens it first may."""

    person: User
    path: str


class PasswordLinkUsed(PermissionDenied):
    """The link is wrong, too old or used up."""


class LinkTokens(PasswordResetTokenGenerator):
    """Good until the password changes, its owner signs in, or PASSWORD_RESET_TIMEOUT is over."""

    key_salt = "runs.password-link"


def change_password(person: User, old: str, new: str, address: str) -> None:
    """ValidationError names the field that is wrong. TooManyTries says how long to wait."""
    if not check_own_password(person, old, address):
        raise ValidationError({"old_password": NOT_YOURS})
    if new == old:
        raise ValidationError({"password": SAME_AGAIN})
    _set_password(person, new, "knowing the old one")


def link_for(person: User) -> PasswordLink:
    token = LinkTokens().make_token(person)
    return PasswordLink(person, reverse("password_link", args=[person.pk, token]))


def person_of_link(person_id: int, token: str) -> User | None:
    """Whose password may be chosen there; None when the link is used up, too old or forged."""
    person = User.objects.filter(pk=person_id, is_active=True).first()
    return person if LinkTokens().check_token(person, token) else None


@transaction.atomic
def choose_password(person_id: int, token: str, new: str) -> User:
    """ValidationError names the field that is wrong."""
    list(User.objects.select_for_update().filter(pk=person_id))  # of two at once, one is first
    person = person_of_link(person_id, token)
    if person is None:
        raise PasswordLinkUsed("This link is no longer valid. Ask an administrator for a new one.")
    _set_password(person, new, "by a one-time link")
    return person


@transaction.atomic
def _set_password(person: User, new: str, how: str) -> None:
    try:
        validate_password(new, person)
    except ValidationError as error:
        raise ValidationError({"password": error.messages}) from error
    person.set_password(new)
    person.save(update_fields=["password"])
    record(AuditAction.PASSWORD_CHANGED, person, how, actor=person)
