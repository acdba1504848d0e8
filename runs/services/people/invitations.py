"""Invites people by a one-time link, at which they choose a name and a password.

The link is shown once, to the administrator who hands it over; stored is its hash."""

import hashlib
import secrets
from datetime import timedelta
from typing import NamedTuple

from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.urls import reverse
from django.utils.timezone import now

from runs.forms.people import LONGEST_DAYS, LONGEST_NOTE
from runs.models import AuditAction, Invitation
from runs.roles import Permission, Role, check_permission, may
from runs.services.audit import record
from runs.services.people.roles import new_account, put_into_role
from runs.services.people.throttle import begin_try, forgive, new_try

TOKEN_BYTES = 32  # 256 bits: nothing to guess, so a plain hash keeps it


class InvitationLink(NamedTuple):
    invitation: Invitation
    path: str  # shown now and never again


class InvitationUsed(PermissionDenied):
    """The link is wrong, too old, used up or taken back."""


@transaction.atomic
def invite(admin: AbstractBaseUser, role: Role, days: int, note: str = "") -> InvitationLink:
    """ValidationError names the field that is wrong."""
    check_permission(User.objects.get(pk=admin.pk), Permission.MANAGE_PEOPLE)
    _check(days, note)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    made = Invitation.objects.create(
        digest=_digest(token),
        role=role.value,
        note=note.strip(),
        made_by_id=admin.pk,
        expires=now() + timedelta(days=days),
    )
    told = f"as {role}, until {made.expires:%Y-%m-%d %H:%M} UTC"
    record(AuditAction.INVITATION_MADE, made, told, actor=admin)
    return InvitationLink(made, reverse("invitation", args=[token]))


@transaction.atomic
def revoke_invitation(admin: AbstractBaseUser, invitation: Invitation) -> bool:
    """False if it led nowhere any more."""
    check_permission(User.objects.get(pk=admin.pk), Permission.MANAGE_PEOPLE)
    usable = Invitation.objects.filter(pk=invitation.pk, revoked=None, used=None)
    if not usable.update(revoked=now()):
        return False
    record(AuditAction.INVITATION_REVOKED, invitation, f"as {invitation.role}", actor=admin)
    return True


def open_invitation(token: str) -> Invitation | None:
    """What the link leads to; None when it is used up, too old, taken back or forged, or who made
    it may not invite any more."""
    found = Invitation.objects.filter(
        digest=_digest(token), revoked=None, used=None, expires__gt=now()
    ).select_related("made_by")
    invitation = found.first()
    if invitation is None or not may(invitation.made_by, Permission.MANAGE_PEOPLE):
        return None
    return invitation


def accept_invitation(token: str, username: str, password: str, address: str) -> User:
    """The new account. ValidationError names the fields that are wrong, TooManyTries says how long
    to wait: a password that is refused counts like one that is wrong."""
    tried = new_try(f"invitation {_digest(token)}", address)
    begin_try(tried)
    person = _accept(token, username, password)
    forgive(tried)
    return person


@transaction.atomic
def _accept(token: str, username: str, password: str) -> User:
    invitation = claim_invitation(token)
    person = _new_person(username, password)
    person.set_password(password)
    person.save()
    use_invitation(invitation, person)
    return person


def claim_invitation(token: str) -> Invitation:
    """Inside a transaction: of two people who open the link at once, one is first."""
    list(Invitation.objects.select_for_update().filter(digest=_digest(token)))
    invitation = open_invitation(token)
    if invitation is None:
        raise InvitationUsed("This link is no longer valid. Ask an administrator for a new one.")
    return invitation


def use_invitation(invitation: Invitation, person: User) -> None:
    Invitation.objects.filter(pk=invitation.pk).update(used=now(), used_by=person)
    put_into_role(person, Role(invitation.role))
    invited = f"invited by {invitation.made_by.get_username()} as {invitation.role}"
    record(AuditAction.PERSON_ADDED, person, invited, actor=person)
    record(AuditAction.INVITATION_USED, invitation, f"by {person.get_username()}", actor=person)


def _new_person(username: str, password: str) -> User:
    """Not stored yet. All that is wrong is said at once."""
    errors: dict[str, list[str]] = {}
    person = User(username=username)
    try:
        person = new_account(username)
    except ValidationError as error:
        errors.update(error.message_dict)
    try:
        validate_password(password, person)
    except ValidationError as error:
        errors["password"] = error.messages
    if errors:
        raise ValidationError(errors)
    return person


def _check(days: int, note: str) -> None:
    errors = {}
    if not 1 <= days <= LONGEST_DAYS:
        errors["days"] = f"Give 1 to {LONGEST_DAYS} days."
    if len(note.strip()) > LONGEST_NOTE or not note.isprintable():
        errors["note"] = f"Give at most {LONGEST_NOTE} printable characters."
    if errors:
        raise ValidationError(errors)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
