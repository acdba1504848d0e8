"""Makes, checks and revokes API tokens. The text of one is seen once, by whoever asked for it."""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from datetime import timedelta
from typing import NamedTuple

from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from django.utils.timezone import now

from runs.models import ApiToken, AuditAction, Scope
from runs.services.audit import record
from workers.engine.errors import ConfigurationError, Problem

SECRET_BYTES = 32  # 256 bits: nothing to guess, so a plain hash keeps it
PREFIX_BYTES = 5
PREFIX_LENGTH = len("ev_") + 2 * PREFIX_BYTES
LONGEST_NAME = 80  # characters, as in the table
LONGEST_LIFE_DAYS = 3650
USE_NOTED_EVERY = timedelta(minutes=1)  # a write for every request would be one too many
SERVICE_ACCOUNT = "service"
NO_DIGEST = "0" * 64  # compared with when there is no such token, so that both take as long


class NewToken(NamedTuple):
    token: ApiToken
    text: str  # shown now and never again


@transaction.atomic
def create_token(
    owner: AbstractBaseUser, name: str, scopes: Collection[str], days: int | None = None
) -> NewToken:
    """A new token. ConfigurationError lists every problem; then there is none."""
    _refuse_wrong(name, scopes, days)
    prefix = f"ev_{secrets.token_hex(PREFIX_BYTES)}"
    text = f"{prefix}_{secrets.token_urlsafe(SECRET_BYTES)}"
    token = ApiToken.objects.create(
        owner_id=owner.pk,
        name=name.strip(),
        prefix=prefix,
        digest=_digest(text),
        scopes=[scope for scope in Scope.values if scope in scopes],
        expires=None if days is None else now() + timedelta(days=days),
    )
    until = f"until {token.expires:%Y-%m-%d}" if token.expires else "without an end"
    record(AuditAction.TOKEN_MADE, token, f"{', '.join(token.scopes)}, {until}", actor=owner)
    return NewToken(token, text)


def authenticate_token(text: str) -> ApiToken | None:
    """The token that this is, if it may be used now; its use is noted."""
    if not text.isascii() or not text.isprintable():
        return None
    prefix = text[:PREFIX_LENGTH]
    known = ApiToken.objects.select_related("owner").filter(prefix=prefix).first()
    is_right = hmac.compare_digest(known.digest if known else NO_DIGEST, _digest(text))
    moment = now()
    if known is None or not is_right or not known.is_valid_at(moment):
        return None
    if not known.owner.is_active:
        return None
    if known.last_used is None or moment - known.last_used > USE_NOTED_EVERY:
        ApiToken.objects.filter(pk=known.pk).update(last_used=moment)
    return known


def owner_now(token: ApiToken) -> User | None:
    """As both are stored now; None when the token may not be used any more."""
    known = ApiToken.objects.select_related("owner").filter(pk=token.pk).first()
    if known is None or not known.is_valid_at(now()) or not known.owner.is_active:
        return None
    return known.owner


@transaction.atomic
def revoke_token(token: ApiToken) -> bool:
    """The next request with it is refused. False if it was revoked already."""
    if not ApiToken.objects.filter(pk=token.pk, revoked=None).update(revoked=now()):
        return False
    record(AuditAction.TOKEN_REVOKED, token)
    return True


def owner_for_command(username: str | None) -> AbstractBaseUser:
    """Who a token made on the command line acts for: the one named, else the first administrator,
    else an account of its own that nobody can sign in with."""
    if username is not None:
        found = User.objects.filter(username=username, is_active=True).first()
        if found is None:
            raise ConfigurationError([Problem("user", f"There is no account {username!r}.")])
        return found
    first = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    return first or _service_account()


@transaction.atomic
def _service_account() -> User:
    account = User(username=SERVICE_ACCOUNT, is_staff=True)
    account.set_unusable_password()
    stored, is_new = User.objects.get_or_create(
        username=SERVICE_ACCOUNT, defaults={"is_staff": True, "password": account.password}
    )
    if is_new:
        record(AuditAction.PERSON_ADDED, stored, "for tokens; nobody can sign in with it")
    return stored


def _refuse_wrong(name: str, scopes: Collection[str], days: int | None) -> None:
    problems = []
    plain = name.strip()
    if not plain or len(plain) > LONGEST_NAME or not plain.isprintable():
        problems.append(Problem("name", f"Give 1 to {LONGEST_NAME} printable characters."))
    unknown = sorted(set(scopes) - set(Scope.values))
    if unknown or not scopes:
        allowed = ", ".join(Scope.values)
        told = f"Unknown: {', '.join(unknown)}. " if unknown else ""
        problems.append(Problem("scopes", f"{told}Choose one or more of: {allowed}."))
    if days is not None and not 1 <= days <= LONGEST_LIFE_DAYS:
        problems.append(Problem("days", f"Give 1 to {LONGEST_LIFE_DAYS} days, or none."))
    if problems:
        raise ConfigurationError(problems)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
