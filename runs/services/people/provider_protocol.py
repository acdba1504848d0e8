"""Talks to the sign-in provider (OpenID Connect: authorization code with PKCE), through the guard
of outgoing calls, and believes nothing of it that is not signed for this site and this attempt."""

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlencode

import orjson
from django.core import signing
from django.core.cache import cache

from evalsite.sign_in_provider import SignInProvider
from runs.outbound import sign_in_route
from workers.engine.errors import CallError
from workers.engine.http import Answer
from workers.engine.providers.addresses import check_url
from workers.engine.providers.routes import Route, open_client

DEADLINE_SECONDS = 10.0  # for one exchange: looking up the name, connecting, reading
KEPT_SECONDS = 600  # the provider's list of addresses; keys are asked for at every sign-in
AWAY_SECONDS = 5  # one that does not answer is not asked for every stranger who clicks
ATTEMPT_SECONDS = 600  # to sign in there
LEEWAY_SECONDS = 60  # its clock and ours
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384"]  # with a public key only
LONGEST_ANSWER = 256 * 1024  # bytes
SALT = "runs.sign-in-provider"
NOT_CONFIRMED = (
    "The sign-in provider could not confirm who you are. Try again, or ask an administrator."
)
ADDRESSES = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class ProviderProblem(Exception):
    """What a person is told; `reason` is for the audit table."""

    def __init__(self, reason: str) -> None:
        super().__init__(NOT_CONFIRMED)
        self.reason = reason


class Attempt(NamedTuple):
    """What the browser keeps, signed, until it comes back."""

    state: str
    nonce: str
    verifier: str
    next: str
    invitation: str  # token of the link that the person came by
    person: int  # who connects the account they are signed in with; 0: nobody

    @property
    def challenge(self) -> str:
        return _base64(hashlib.sha256(self.verifier.encode()).digest())


class Claims(NamedTuple):
    """What the provider vouches for."""

    issuer: str
    subject: str
    mail: str  # empty unless it is verified


def new_attempt(next_page: str, invitation: str = "", person: int = 0) -> Attempt:
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return Attempt(state, nonce, verifier, next_page, invitation, person)


def as_cookie(attempt: Attempt) -> str:
    return signing.dumps(attempt._asdict(), salt=SALT)


def read_attempt(cookie: str, state: str) -> Attempt:
    """ProviderProblem if this browser did not begin it, or long ago."""
    try:
        attempt = Attempt(**signing.loads(cookie, salt=SALT, max_age=ATTEMPT_SECONDS))
    except signing.BadSignature:
        raise ProviderProblem("no attempt of this browser") from None
    if not hmac.compare_digest(attempt.state.encode(), state.encode()):
        raise ProviderProblem("another state")
    return attempt


def address_to_sign_in(provider: SignInProvider, attempt: Attempt, come_back: str) -> str:
    """Where the browser goes. ProviderProblem if the provider does not say."""
    asked = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": come_back,
        "scope": "openid email profile",
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": attempt.challenge,
        "code_challenge_method": "S256",
    }
    page = _addresses_of(provider)["authorization_endpoint"]
    return f"{page}{'&' if '?' in page else '?'}{urlencode(asked)}"


def read_claims(provider: SignInProvider, attempt: Attempt, code: str, come_back: str) -> Claims:
    """Exchange the code for a signed token, and check it. ProviderProblem says what was wrong."""
    addresses = _addresses_of(provider)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": come_back,
        "client_id": provider.client_id,
        "client_secret": provider.client_secret,
        "code_verifier": attempt.verifier,
    }
    answer = _ask(provider, addresses["token_endpoint"], form)
    keys = _ask(provider, addresses["jwks_uri"])
    return _check(provider, attempt, str(answer.get("id_token", "")), keys)


def _check(
    provider: SignInProvider, attempt: Attempt, token: str, keys: Mapping[str, Any]
) -> Claims:
    import jwt

    try:
        wanted = jwt.get_unverified_header(token).get("kid")
        usable = [key for key in jwt.PyJWKSet.from_dict(dict(keys)).keys if fits(key, wanted)]
        if not usable:
            raise ProviderProblem("signed with an unknown key")
        claims = jwt.decode(
            token,
            usable[0].key,
            algorithms=ALGORITHMS,
            audience=provider.client_id,
            issuer=provider.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iat", "iss", "aud", "sub"]},
        )
    except jwt.PyJWTError as error:
        raise ProviderProblem(f"token refused: {type(error).__name__}") from None
    return _claims_of(provider, attempt, claims)


def fits(key: Any, wanted: str | None) -> bool:
    """A token that names no key fits the only one there is, or the first."""
    return key.public_key_use in {None, "sig"} and (wanted is None or key.key_id == wanted)


def _claims_of(provider: SignInProvider, attempt: Attempt, claims: Mapping[str, Any]) -> Claims:
    nonce = str(claims.get("nonce", ""))
    if not hmac.compare_digest(nonce.encode(), attempt.nonce.encode()):
        raise ProviderProblem("another nonce")
    if claims.get("azp", provider.client_id) != provider.client_id:
        raise ProviderProblem("for another client")
    mail = claims.get("email") if claims.get("email_verified") is True else ""
    return Claims(provider.issuer, str(claims["sub"]), str(mail or "").strip().lower())


def _addresses_of(provider: SignInProvider) -> dict[str, str]:
    """From its discovery document, which must be about the issuer that was set."""
    key = f"sign-in-provider:{hashlib.sha256(provider.issuer.encode()).hexdigest()}"
    kept: dict[str, str] | str | None = cache.get(key)
    if isinstance(kept, str):
        raise ProviderProblem(kept)
    if kept is not None:
        return kept
    try:
        addresses = _read_addresses(provider)
    except ProviderProblem as problem:
        cache.set(key, problem.reason, AWAY_SECONDS)
        raise
    cache.set(key, addresses, KEPT_SECONDS)
    return addresses


def _read_addresses(provider: SignInProvider) -> dict[str, str]:
    found = _ask(provider, f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
    if found.get("issuer") != provider.issuer:
        raise ProviderProblem("its document names another issuer")
    addresses = {name: str(found.get(name, "")) for name in ADDRESSES}
    if not addresses["authorization_endpoint"].startswith(("https://", "http://")):
        raise ProviderProblem("its document names no sign-in page")
    return addresses


def _ask(
    provider: SignInProvider, url: str, form: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A JSON object of the provider; by POST with a form."""
    route = sign_in_route(provider.issuer)
    # Not asyncio.run: it would wait for a name look-up that outlives the deadline.
    with closing(asyncio.new_event_loop()) as loop:
        try:
            answer = loop.run_until_complete(_exchange(route, url, form))
        except (CallError, TimeoutError, ValueError) as error:
            raise ProviderProblem(f"no answer: {type(error).__name__}") from None
    if answer.status != 200 or len(answer.body) > LONGEST_ANSWER:
        raise ProviderProblem(f"it answered {answer.status}")
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise ProviderProblem("its answer is no JSON") from None
    if not isinstance(found, dict):
        raise ProviderProblem("its answer is no object")
    return found


async def _exchange(route: Route, url: str, form: Mapping[str, str] | None) -> Answer:
    address = str(check_url(url, route.policy))
    headers = {"Accept": "application/json"}
    async with asyncio.timeout(DEADLINE_SECONDS), open_client(route) as client:
        if form is None:
            return await client.get(address, headers)
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return await client.post(address, urlencode(form).encode(), headers)


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
