"""What of an endpoint is stored encrypted: its key, its own headers, its proxy's password."""

import json
import re
import ssl
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.utils.timezone import now

from runs import secrets
from runs.models import DIRECT, Endpoint
from runs.roles import Person
from runs.secrets import NewSecrets
from workers.engine.http import read_proxy

LONGEST_KEY = 4096  # characters; tokens of some gateways are long, headers end at 8 KB
SHORTEST_HINTED_KEY = 16  # characters; of a shorter one, four letters would give away too much
MOST_HEADERS = 20
LONGEST_BUNDLE = 200_000  # characters; the whole list of a system has as many
HEADER_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")  # fewer than HTTP allows: no shell knows them
# What the client writes itself, or what would end up at the proxy.
OWN_HEADERS = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "expect", "te")
)
CIPHERTEXTS = ["key_ciphertext", "headers_ciphertext", "proxy_ciphertext"]


def put_secrets(user: Person | None, endpoint: Endpoint, new: NewSecrets) -> None:
    """Onto the object; saving it is another's. ValidationError if they cannot be used."""
    check_secrets(new)
    if new.key is not None:
        _put_key(user, endpoint, new.key.strip())
    if new.headers is not None:
        endpoint.header_names = sorted(new.headers)
        text = json.dumps(dict(new.headers))
        endpoint.headers_ciphertext = secrets.encrypt(text) if new.headers else ""
    if new.proxy is not None:
        _put_proxy(endpoint, new.proxy.strip())


def check_secrets(new: NewSecrets) -> None:
    """Refuse what cannot be sent, before it is stored."""
    errors: dict[str, Any] = {}
    for field, check in (
        ("new_key", partial(_check_key, new.key or "")),
        ("new_headers", partial(_check_headers, new.headers or {})),
        ("new_proxy", partial(_check_proxy, new.proxy or DIRECT)),
    ):
        try:
            check()
        except ValueError as error:
            errors[field] = str(error)
    if errors:
        raise ValidationError(errors)


def _check_key(text: str) -> None:
    key = text.strip()
    if len(key) > LONGEST_KEY:
        raise ValueError(f"A key has at most {LONGEST_KEY} characters.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("A key holds printable ASCII characters without spaces. Copy it again.")


def _check_headers(headers: Mapping[str, str]) -> None:
    if len(headers) > MOST_HEADERS:
        raise ValueError(f"At most {MOST_HEADERS} headers.")
    for name, value in headers.items():
        lowered = name.lower()
        if not HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name[:60]!r} is no name of a header. Write Name: value.")
        if lowered in OWN_HEADERS or lowered.startswith("proxy-"):
            raise ValueError(f"{name} is written by the site itself. Leave it out.")
        if not value.isascii() or not value.isprintable() or len(value) > LONGEST_KEY:
            raise ValueError(
                f"The value of {name} must be printable ASCII of at most {LONGEST_KEY} characters."
            )


def _check_proxy(text: str) -> None:
    if text.strip() != DIRECT:
        read_proxy(text)


def check_bundle(endpoint: Endpoint, new: NewSecrets) -> None:
    text = endpoint.ca_bundle
    if not text:
        return
    try:
        if len(text) > LONGEST_BUNDLE:
            raise ValueError
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (ValueError, ssl.SSLError):
        raise ValidationError(
            {
                "ca_bundle": "Give certificates in PEM, each between BEGIN CERTIFICATE and END "
                f"CERTIFICATE, of at most {LONGEST_BUNDLE:,} characters."
            }
        ) from None


def check_secrets_stay_at_home(endpoint: Endpoint, new: NewSecrets) -> None:
    """Who may change where calls go must not thereby have a stored secret sent there. A proxy with
    a certificate of its own could read it, too."""
    stored = Endpoint.objects.filter(pk=endpoint.pk).first() if endpoint.pk else None
    if stored is None:
        return
    kept = [
        name
        for name, is_stored, given in (
            ("key", stored.has_key, new.key),
            ("headers", stored.headers_ciphertext, new.headers),
        )
        if is_stored and given is None
    ]
    problems = _new_places(stored, endpoint, new)
    if kept and problems:
        what = " and the ".join(kept)
        told = f"so enter the {what} again: stored ones are sent to no new host."
        raise ValidationError({field: f"{reason}, {told}" for field, reason in problems.items()})


def _new_places(stored: Endpoint, endpoint: Endpoint, new: NewSecrets) -> dict[str, str]:
    known = {_origin(url) for url in (stored.base_url, *stored.more_urls)}
    more: Sequence[Any] = endpoint.more_urls if isinstance(endpoint.more_urls, list) else []
    found = {}
    if _origin(endpoint.base_url) not in known:
        found["base_url"] = "The host is new"
    if any(_origin(str(url)) not in known for url in more):
        found["more_urls"] = "A host is new"
    if new.proxy is not None and endpoint.proxy_shown not in (stored.proxy_shown, "", DIRECT):
        found["new_proxy"] = "The proxy is new"
    if endpoint.ca_bundle not in (stored.ca_bundle, ""):
        found["ca_bundle"] = "The certificates are new"
    return found


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url.strip().lower())
    return parts.scheme, parts.netloc


def _put_key(user: Person | None, endpoint: Endpoint, key: str) -> None:
    endpoint.key_ciphertext = secrets.encrypt(key) if key else ""
    endpoint.key_hint = key[-4:] if len(key) >= SHORTEST_HINTED_KEY else ""
    endpoint.key_set_at = now() if key else None
    endpoint.key_set_by_id = user.pk if user and key else None


def _put_proxy(endpoint: Endpoint, url: str) -> None:
    if url in ("", DIRECT):
        endpoint.proxy_shown, endpoint.proxy_ciphertext = url, ""
        return
    endpoint.proxy_shown = read_proxy(url).shown
    endpoint.proxy_ciphertext = secrets.encrypt(url)
