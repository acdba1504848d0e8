"""How many bytes a request may have: decided by who sends it, and where to, before it is read."""

from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest

from runs.roles import Permission, may
from runs.services.datasets.reading import MAX_BYTES
from runs.services.people.accounts import person_of_session
from runs.services.people.tokens import authenticate_token

KILOBYTE, MEGABYTE = 1024, 1024 * 1024
UPLOAD_PATHS = ("/datasets/import/", "/api/v1/datasets")
MULTIPART = "multipart/form-data"


class BodyLimit(NamedTuple):
    bytes: int
    words: str  # the second half of a sentence: what is allowed, and what to do


VISITOR = BodyLimit(
    64 * KILOBYTE,
    "at most 64 KB are read from somebody who is not signed in. Sign in, or send a valid token.",
)
ORDINARY = BodyLimit(
    MEGABYTE,
    "at most 1 MB is read here. Import many rows as a dataset: upload a file of at most 20 MB.",
)
UPLOAD = BodyLimit(
    MAX_BYTES + MEGABYTE,  # the file, and the fields around it
    "at most 20 MB can be imported. Split it into several datasets.",
)


class Sender(NamedTuple):
    """What the head of a request says, before its body is read."""

    method: str
    path: str
    content_type: str
    cookies: str
    authorization: str


class RefusedBody(NamedTuple):
    """A body that was not read: more bytes than the limit, or so many as the head announced."""

    limit: BodyLimit
    size: int | None

    @property
    def sentence(self) -> str:
        size = f"The data has {self.size / MEGABYTE:,.1f} MB" if self.size else "There is too much"
        return f"{size}; {self.limit.words}"


def limit_for(sender: Sender) -> BodyLimit:
    """Asks the database who it is: for bodies that are too large for a visitor only."""
    person = person_of(sender)
    if person is None:
        return VISITOR
    is_upload = (
        sender.method == "POST"
        and sender.path in UPLOAD_PATHS
        and sender.content_type.lower().startswith(MULTIPART)
    )
    return UPLOAD if is_upload and may(person, Permission.IMPORT) else ORDINARY


def person_of(sender: Sender) -> AbstractBaseUser | None:
    scheme, _, token = sender.authorization.partition(" ")
    if scheme.lower() == "bearer":
        known = authenticate_token(token.strip())
        return known.owner if known else None
    try:
        morsel = SimpleCookie(sender.cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return None
    return person_of_session(morsel.value) if morsel else None


def sender_of(request: HttpRequest) -> Sender:
    return Sender(
        request.method or "",
        request.path,
        request.META.get("CONTENT_TYPE", ""),
        request.META.get("HTTP_COOKIE", ""),
        request.META.get("HTTP_AUTHORIZATION", ""),
    )
