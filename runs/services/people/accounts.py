"""The first account, made by a one-time link, and whose a session is."""

from datetime import timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user, get_user_model
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.auth.password_validation import validate_password
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.signing import BadSignature, TimestampSigner
from django.db import transaction
from django.urls import reverse

from evalsite.session_age import is_too_old
from runs.models import AuditAction, PersonQuota
from runs.roles import Role
from runs.services.audit import record

SETUP_SALT = "runs.first-administrator"
SETUP_LINK_LIFE = timedelta(days=7)
FOR_NEWCOMERS = {"trials_per_run": 200_000, "active_runs": 5, "stored_megabytes": 2_000}


class SetupClosedError(PermissionDenied):
    """The link is wrong, too old or used up."""


def needs_setup() -> bool:
    """Whether nobody has an account to sign in with yet."""
    service_accounts = {"password__startswith": UNUSABLE_PASSWORD_PREFIX}
    return not get_user_model().objects.exclude(**service_accounts).exists()


def make_setup_link() -> str:
    """The path at which the first administrator chooses a name and a password."""
    token = TimestampSigner(salt=SETUP_SALT).sign("setup")
    return reverse("setup", args=[token])


def check_setup_token(token: str) -> bool:
    """Whether the link may still be used: genuine, fresh, and nobody was first."""
    try:
        TimestampSigner(salt=SETUP_SALT).unsign(token, max_age=SETUP_LINK_LIFE)
    except BadSignature:  # an expired one too
        return False
    return needs_setup()


@transaction.atomic
def create_admin(token: str, username: str, password: str) -> User:
    """The first account. ValidationError names the fields that are wrong."""
    _wait_for_other_setups()
    if not check_setup_token(token):
        raise SetupClosedError(
            "This link is no longer valid. If there is an account, sign in with it; "
            "otherwise start the server again and use the link it prints."
        )
    user = User(username=User.normalize_username(username), is_staff=True, is_superuser=True)
    _validate(user, password)
    user.set_password(password)
    user.save()
    _bound_newcomers()
    record(AuditAction.PERSON_ADDED, user, "the first administrator, by the set-up link")
    return user


class SessionOnly:
    """What django.contrib.auth.get_user needs of a request."""

    def __init__(self, session: Any) -> None:
        self.session = session


def person_of_session(session_key: str | None) -> AbstractBaseUser | None:
    """Who a session belongs to now. Read from the store again: a sign-out must be seen."""
    if not session_key:
        return None
    store = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    if is_too_old(store):
        return None
    user = get_user(SessionOnly(store))  # type: ignore[arg-type]  # it only reads the session
    return user if isinstance(user, AbstractBaseUser) and user.is_active else None


def _bound_newcomers() -> None:
    """On a new site those who are let in have limits until the administrator says others."""
    for role in (Role.RUNNER, Role.AUTHOR):
        PersonQuota.objects.get_or_create(role=role.value, defaults=FOR_NEWCOMERS)


def _wait_for_other_setups() -> None:
    """Let one setup through at a time: two at once would both see no accounts."""
    # A row that is always there; SQLite locks the whole file at BEGIN instead.
    row = ContentType.objects.get_for_model(User)
    ContentType.objects.select_for_update().get(pk=row.pk)


def _validate(user: User, password: str) -> None:
    errors: dict[str, list[str]] = {}
    try:
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        errors.update(error.message_dict)
    try:
        validate_password(password, user)
    except ValidationError as error:
        errors["password"] = error.messages
    if errors:
        raise ValidationError(errors)
