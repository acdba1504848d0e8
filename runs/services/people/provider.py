"""Who may come in through the sign-in provider, as whom, and with which role."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from evalsite.sign_in_provider import SignInProvider
from runs.models import AuditAction, ProviderIdentity
from runs.roles import Role
from runs.services.audit import Subject, record
from runs.services.people.invitations import InvitationUsed, claim_invitation, use_invitation
from runs.services.people.provider_protocol import Attempt, Claims, ProviderProblem, read_claims
from runs.services.people.roles import new_account, put_into_role
from runs.services.people.throttle import begin_try, forgive, new_try

NOT_IN_NAMES = re.compile(r"[^\w.@+-]")  # as Django's accounts have it
CLOSED = "This account is closed. Ask an administrator."
STRANGER = "Nobody here has invited you yet. Ask an administrator for an invitation."
TAKEN = (
    "There is an account of your name already. Sign in with its password, and connect it on the "
    "page Your profile."
)


class NotAdmitted(PermissionDenied):
    """The provider knows the person; this site does not let them in. Says why."""


def sign_in_with(
    provider: SignInProvider, attempt: Attempt, code: str, come_back: str, address: str
) -> User:
    """Who came in. ProviderProblem or NotAdmitted says why not, TooManyTries how long to wait."""
    tried = new_try(f"sign-in provider {address}", address)
    begin_try(tried)
    with _refusals_recorded():
        claims = read_claims(provider, attempt, code, come_back)
        person = _admit(provider, claims, attempt)
    forgive(tried)
    record(AuditAction.SIGN_IN, person, "through the sign-in provider", actor=person)
    return person


@contextmanager
def _refusals_recorded() -> Iterator[None]:
    nobody = Subject("user", "unknown account")
    try:
        yield
    except ProviderProblem as problem:
        record(AuditAction.SIGN_IN_FAILED, nobody, f"sign-in provider: {problem.reason}")
        raise
    except NotAdmitted as refusal:
        record(AuditAction.SIGN_IN_FAILED, nobody, f"sign-in provider: {refusal}")
        raise


@transaction.atomic
def _admit(provider: SignInProvider, claims: Claims, attempt: Attempt) -> User:
    known = ProviderIdentity.objects.filter(issuer=claims.issuer, subject=claims.subject)
    if identity := known.select_related("person").first():
        return _open_account(identity.person, attempt)
    if attempt.person:
        return _connect(User.objects.get(pk=attempt.person), claims, "on the own profile")
    if found := _by_mail(claims.mail):
        return _connect(found, claims, "by a verified mail address")
    if attempt.invitation:
        return _invited(claims, attempt.invitation)
    if claims.mail.rpartition("@")[2] not in provider.domains:
        raise NotAdmitted(STRANGER)
    person = _add(claims)
    put_into_role(person, Role(provider.role))
    told = f"through the sign-in provider, as {provider.role}"
    record(AuditAction.PERSON_ADDED, person, told, actor=person)
    return person


def _open_account(person: User, attempt: Attempt) -> User:
    if attempt.person not in {0, person.pk}:
        raise NotAdmitted("This identity belongs to another account here.")
    if not person.is_active:
        raise NotAdmitted(CLOSED)
    return person


def _by_mail(mail: str) -> User | None:
    """The one account with the address, as an administrator has entered it."""
    found = list(User.objects.filter(email__iexact=mail)[:2]) if mail else []
    return found[0] if len(found) == 1 else None


def _connect(person: User, claims: Claims, how: str) -> User:
    if not person.is_active:
        raise NotAdmitted(CLOSED)
    ProviderIdentity.objects.create(person=person, issuer=claims.issuer, subject=claims.subject)
    record(AuditAction.PROVIDER_CONNECTED, person, how, actor=person)
    return person


def _invited(claims: Claims, token: str) -> User:
    try:
        invitation = claim_invitation(token)
    except InvitationUsed as used:
        raise NotAdmitted(str(used)) from None
    person = _add(claims)
    use_invitation(invitation, person)
    return person


def _add(claims: Claims) -> User:
    """Named by the mail address; nobody can sign in with a password until one is chosen."""
    if not claims.mail:
        raise NotAdmitted("The sign-in provider has not verified your mail address.")
    try:
        person = new_account(NOT_IN_NAMES.sub("-", claims.mail), claims.mail)
    except ValidationError:
        raise NotAdmitted(TAKEN) from None
    person.set_unusable_password()
    person.save()
    ProviderIdentity.objects.create(person=person, issuer=claims.issuer, subject=claims.subject)
    return person
