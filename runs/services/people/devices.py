"""Remembers a browser that an account has signed in from, in a signed cookie of that browser.

It opens nothing by itself: it only keeps the failures of strangers from making its owner wait. A
change of the password ends it, since the hash of the password is part of what is signed.
"""

import secrets
from datetime import timedelta
from typing import NamedTuple

from django.contrib.auth.models import AbstractBaseUser
from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac

SALT = "runs.known-device"
LIFE = timedelta(days=180)  # since the last sign-in
MOST_ACCOUNTS = 5  # of one browser; the one that was used longest ago is forgotten
ID_BYTES = 16


class Device(NamedTuple):
    id: str
    marks: dict[str, str]  # of the accounts that signed in from it, by their numbers

    def is_known_to(self, person: AbstractBaseUser) -> bool:
        mark = self.marks.get(str(person.pk), "")
        return constant_time_compare(mark, _mark(self.id, person))


def read_device(cookie: str) -> Device:
    """A new one if the cookie is missing, too old or not of our making."""
    try:
        stored = signing.loads(cookie, salt=SALT, max_age=LIFE)
    except signing.BadSignature:
        return Device(secrets.token_hex(ID_BYTES), {})
    return Device(stored["id"], stored["marks"])


def remember(device: Device, person: AbstractBaseUser) -> str:
    """The cookie with which the browser is known to this account, too."""
    others = [(pk, mark) for pk, mark in device.marks.items() if pk != str(person.pk)]
    kept = [*others, (str(person.pk), _mark(device.id, person))][-MOST_ACCOUNTS:]
    return signing.dumps({"id": device.id, "marks": dict(kept)}, salt=SALT)


def _mark(device_id: str, person: AbstractBaseUser) -> str:
    signed = f"{device_id}:{person.pk}:{person.get_session_auth_hash()}"
    return salted_hmac(SALT, signed, algorithm="sha256").hexdigest()
