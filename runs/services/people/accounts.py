"""The first account, made by a one-time link, and the limit on failed sign-ins."""

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
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.timezone import now

from runs.models import AuditAction, SignInFailure
from runs.services.audit import Subject, record

SETUP_SALT = "runs.first-administrator"
SETUP_LINK_LIFE = timedelta(days=7)

FAILURE_WINDOW = timedelta(minutes=15)
FAILURES_PER_ADDRESS = 5  # of one account from one address: a person who mistypes
FAILURES_PER_ACCOUNT = 100  # of one account from everywhere: a botnet that guesses


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
    record(AuditAction.PERSON_ADDED, user, "the first administrator, by the set-up link")
    return user


def sign_in_is_blocked(username: str, ip: str) -> int:
    """Seconds until another try is allowed, 0 if it is now."""
    failures = SignInFailure.objects.filter(
        account=_account(username), at__gt=now() - FAILURE_WINDOW
    )
    return max(
        _seconds_left(failures.filter(address=ip), FAILURES_PER_ADDRESS),
        _seconds_left(failures, FAILURES_PER_ACCOUNT),
    )


@transaction.atomic
def note_failure(username: str, ip: str) -> None:
    """Count a failed sign-in, and forget those that no longer count."""
    # What belongs to no account is not kept: people type passwords there.
    known = User.objects.filter(username=username.strip()).first()
    record(AuditAction.SIGN_IN_FAILED, known or Subject("user", "unknown account"))
    SignInFailure.objects.filter(at__lte=now() - FAILURE_WINDOW).delete()
    SignInFailure.objects.create(account=_account(username), address=ip, at=now())


@transaction.atomic
def note_success(username: str, ip: str) -> None:
    """A person who got in starts anew; tries from elsewhere still count."""
    SignInFailure.objects.filter(account=_account(username), address=ip).delete()
    user = User.objects.filter(username=username.strip()).first()
    record(AuditAction.SIGN_IN, user, actor=user)


class SessionOnly:
    """What django.contrib.auth.get_user needs of a request."""

    def __init__(self, session: Any) -> None:
        self.session = session


def person_of_session(session_key: str | None) -> AbstractBaseUser | None:
    """Who a session belongs to now. Read from the store again: a sign-out must be seen."""
    if not session_key:
        return None
    store = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user(SessionOnly(store))  # type: ignore[arg-type]  # it only reads the session
    return user if isinstance(user, AbstractBaseUser) and user.is_active else None


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


def _account(username: str) -> str:
    name = username.strip().casefold()
    return salted_hmac("runs.sign-in-failure", name, algorithm="sha256").hexdigest()


def _seconds_left(failures: QuerySet[SignInFailure], limit: int) -> int:
    """Until the oldest of the newest `limit` failures no longer counts."""
    times = list(failures.order_by("-at").values_list("at", flat=True)[:limit])
    if len(times) < limit:
        return 0
    until = times[-1] + FAILURE_WINDOW
    return max(1, round((until - now()).total_seconds()))
