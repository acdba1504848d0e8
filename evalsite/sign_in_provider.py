"""The sign-in provider (OpenID Connect) that the environment names, if any."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

ISSUER, CLIENT = "EVALSITE_OIDC_ISSUER", "EVALSITE_OIDC_CLIENT_ID"
SECRET, DOMAINS = "EVALSITE_OIDC_CLIENT_SECRET", "EVALSITE_OIDC_DOMAINS"
ROLE, NAME = "EVALSITE_OIDC_ROLE", "EVALSITE_OIDC_NAME"
ROLES = ("viewer", "runner", "author", "operator")  # an admin is made by an admin only
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LONGEST_NAME = 40  # characters, on a button
DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


@dataclass(frozen=True)
class SignInProvider:
    issuer: str
    client_id: str
    client_secret: str
    domains: tuple[str, ...]  # whose verified mail addresses may come in; none: only known people
    role: str  # of newcomers by their domain
    name: str  # on the button


def read_provider(
    text: Callable[[str], str | None], problem: type[Exception]
) -> SignInProvider | None:
    """None unless an issuer is set. `problem` says which variable has to be put right."""
    issuer, host = text(ISSUER), urlsplit(text(ISSUER) or "").hostname or ""
    if issuer is None:
        return None
    is_safe = issuer.startswith("https://") or host in LOOPBACK  # nobody listens in between
    if not is_safe or not re.fullmatch(r"https?://[^\s?#]+", issuer):
        raise problem(
            f"{ISSUER} is {issuer!r}. Set it to the provider's URL, as in"
            " https://login.example.com; plain http is for this machine only."
        )
    missing = [name for name in (CLIENT, SECRET) if not text(name)]
    if missing:
        raise problem(f"{ISSUER} is set, but {missing[0]} is not. Set it, or unset {ISSUER}.")
    role = text(ROLE) or ROLES[0]
    if role not in ROLES:
        raise problem(f"{ROLE} is {role!r}. Set it to one of: {', '.join(ROLES)}; or unset it.")
    name = text(NAME) or host
    return SignInProvider(
        issuer=issuer,
        client_id=text(CLIENT) or "",
        client_secret=text(SECRET) or "",
        domains=_domains(text(DOMAINS) or "", problem),
        role=role,
        name=name[:LONGEST_NAME],
    )


def _domains(given: str, problem: type[Exception]) -> tuple[str, ...]:
    domains = tuple(part.strip().lower() for part in given.split(",") if part.strip())
    for domain in domains:
        if not DOMAIN.fullmatch(domain):
            raise problem(
                f"{DOMAINS} contains {domain!r}. List the domains of mail addresses, separated by"
                " commas, such as example.com; without @ and wildcards."
            )
    return domains
