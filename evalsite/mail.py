"""The mail server that alerts go through, read from one address."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


UNREADABLE = (
    "EVALSITE_MAIL_URL cannot be read. Write smtp://host:25, smtp+starttls://user:password@host:587"
    " or smtps://user:password@host:465, with special characters as in %40."
)  # it may hold a password, so it is not repeated
FROM_WHOM = (
    "EVALSITE_MAIL_URL is set, so EVALSITE_MAIL_FROM must say whom mails are from, as in"
    " evalsite@example.org."
)


class MailServer(NamedTuple):
    host: str
    port: int
    user: str
    password: str
    starttls: bool
    tls: bool
    sender: str


def read_mail(url: str, sender: str) -> MailServer:
    """ValueError says which variable is wrong and what to write."""
    if "@" not in sender:
        raise ValueError(FROM_WHOM)
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError(UNREADABLE)
    try:
        port = parts.port or PORTS[parts.scheme]
    except ValueError:
        raise ValueError(UNREADABLE) from None
    return MailServer(
        parts.hostname,
        port,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+starttls",
        tls=parts.scheme == "smtps",
        sender=sender,
    )
