"""Checks names and passwords, no faster than the throttle allows."""

from threading import BoundedSemaphore

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.http import HttpRequest

from evalsite.proxies import neighbourhood
from runs.models import AuditAction
from runs.services.audit import Subject, record
from runs.services.people.devices import Device
from runs.services.people.throttle import begin_try, forgive, new_try

# Each check takes 100 MB for as long as it runs: strangers must not be able to start many.
CHECKS_AT_ONCE = 2
checking = BoundedSemaphore(CHECKS_AT_ONCE)

ACCOUNT_PAGE = "account page"  # counted apart: who guesses there already has the session


def check_credentials(
    request: HttpRequest, device: Device, username: str, password: str
) -> User | None:
    """Whose name and password these are; None if nobody's. TooManyTries says how long to wait.
    A name that does not exist takes as long, and waits as often, as one that does."""
    known = User.objects.filter(username=username).first()
    is_known = known is not None and device.is_known_to(known)
    tried = new_try(username, address_of(request), device.id if is_known else "")
    begin_try(tried)
    with checking:
        found = authenticate(request, username=username, password=password)
    if found is None:
        # What belongs to no account is not kept: people type passwords there.
        record(AuditAction.SIGN_IN_FAILED, known or Subject("user", "unknown account"))
        return None
    forgive(tried)
    record(AuditAction.SIGN_IN, found, actor=found)
    return found


def check_own_password(person: User, password: str, address: str) -> bool:
    """Whether the signed-in person knows the password. TooManyTries says how long to wait."""
    tried = new_try(person.get_username(), address, ACCOUNT_PAGE)
    begin_try(tried)
    with checking:
        is_right = person.check_password(password)
    if is_right:
        forgive(tried)
    return is_right


def address_of(request: HttpRequest) -> str:
    """What counts as one client."""
    return neighbourhood(request.META.get("REMOTE_ADDR", ""))
