"""Slows down who guesses passwords: for one account, from one address, and over the whole site.

Waits grow with the failures of the last hour, and nobody is locked out for good. A device that an
account has signed in from counts by itself, so that nobody else's failures keep its owner out.
In the database, not in Redis: the limits hold when Redis is empty or gone.
"""

from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from django.db.models import Count, Max, Q, QuerySet
from django.utils.crypto import salted_hmac
from django.utils.timezone import now

from runs.models import SignInFailure

WINDOW = timedelta(hours=1)
MOST_DOUBLINGS = 20


class Allowance(NamedTuple):
    free: int  # failures within the window that cost no wait
    first_seconds: int  # the wait after the last free one; each further failure doubles it
    longest_seconds: int

    def wait_after(self, failures: int) -> timedelta:
        if failures < self.free:
            return timedelta()
        doublings = min(failures - self.free, MOST_DOUBLINGS)
        return timedelta(seconds=min(self.longest_seconds, self.first_seconds * 2**doublings))


OWN = Allowance(5, 15, 900)  # one account from one address or device: a person who mistypes
ADDRESS = Allowance(10, 5, 900)  # all accounts from one address: one password for many names
ACCOUNT = Allowance(20, 5, 300)  # one account from everywhere: a botnet that guesses
ALL = Allowance(100, 1, 10)  # all accounts from everywhere: a botnet that tries many names


class TooManyTries(Exception):
    """Says how many seconds to wait."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Wait {seconds} s.")
        self.seconds = seconds


class Try(NamedTuple):
    """Who wants to get in, from where."""

    account: str
    address: str
    device: str  # empty unless the account has signed in from it


def new_try(username: str, address: str, device: str = "") -> Try:
    name = username.strip().casefold()
    account = salted_hmac("runs.sign-in-failure", name, algorithm="sha256").hexdigest()
    return Try(account, address, device)


def begin_try(tried: Try) -> SignInFailure:
    """Counts as a failure until `forgive` says otherwise, so that guesses made at the same moment
    see each other. TooManyTries if it must wait; then it does not count."""
    _refuse_too_many(tried, SignInFailure.objects.filter(at__gt=now() - WINDOW))  # writes nothing
    moment = now()
    SignInFailure.objects.filter(at__lte=moment - WINDOW).delete()
    mine = SignInFailure.objects.create(**tried._asdict(), at=moment)
    try:
        _refuse_too_many(tried, SignInFailure.objects.filter(pk__lt=mine.pk))
    except TooManyTries:
        mine.delete()
        raise
    return mine


def forgive(tried: Try) -> None:
    """A person who got in starts anew; tries from elsewhere still count."""
    address = {} if tried.device else {"address": tried.address}
    SignInFailure.objects.filter(account=tried.account, device=tried.device, **address).delete()


def _refuse_too_many(tried: Try, failures: QuerySet[SignInFailure]) -> None:
    moment = now()
    seconds = max(
        _seconds_left(failures.filter(which), allowance, moment)
        for which, allowance in _limits_of(tried)
    )
    if seconds:
        raise TooManyTries(seconds)


def _limits_of(tried: Try) -> list[tuple[Q, Allowance]]:
    of_account, from_address = Q(account=tried.account), Q(address=tried.address)
    if tried.device:
        return [(of_account & Q(device=tried.device), OWN)]
    strangers = Q(device="")
    return [
        (strangers & of_account & from_address, OWN),
        (strangers & from_address, ADDRESS),
        (strangers & of_account, ACCOUNT),
        (strangers, ALL),
    ]


def _seconds_left(failures: QuerySet[SignInFailure], allowance: Allowance, moment: datetime) -> int:
    found = failures.aggregate(count=Count("pk"), last=Max("at"))
    wait = allowance.wait_after(found["count"])
    return max(0, ceil((found["last"] + wait - moment).total_seconds())) if wait else 0
