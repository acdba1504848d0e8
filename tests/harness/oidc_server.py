"""A sign-in provider (OpenID Connect) over HTTP, with real keys and signatures, for tests to play
with: it checks client, redirect address and PKCE as a provider does, and can be told to lie."""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from tests.harness.answering import Asked, Told, answering, told_json

CLIENT_ID, CLIENT_SECRET = "evalsite-test", "oidc-canary-secret"


@cache
def a_key(number: int) -> RSAPrivateKey:
    """The same number, the same key."""
    return generate_private_key(public_exponent=65537, key_size=2048)


class OidcServer:
    """`person` signs in at once. `lies` replace claims of the token, `signed_by` another key than
    the published one signs, `documents` replace what the discovery document says."""

    issuer = ""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {
            "sub": "248289761001",
            "email": "Jane@Example.com",
            "email_verified": True,
        }
        self.lies: dict[str, Any] = {}
        self.documents: dict[str, Any] = {}
        self.signed_by = 0
        self.algorithm = "RS256"
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []

    def answer(self, asked: Asked) -> Told:
        url = urlsplit(asked.path)
        self.asked.append(url.path)
        if url.path == "/authorize":
            return Told(302, headers={"Location": self.authorize(dict(parse_qsl(url.query)))})
        if url.path == "/token":
            token = self.token_for(dict(parse_qsl(asked.body.decode())))
            return told_json(token) if token else told_json({"error": "invalid_grant"}, 400)
        pages = {"/.well-known/openid-configuration": self.document, "/keys": self.keys}
        return told_json(pages[url.path]()) if url.path in pages else told_json({}, 404)

    def document(self) -> dict[str, Any]:
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token"}
        paths |= {"jwks_uri": "keys"}
        addresses = {name: f"{self.issuer}/{path}" for name, path in paths.items()}
        return {"issuer": self.issuer, **addresses, **self.documents}

    def keys(self) -> dict[str, Any]:
        published = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(a_key(0).public_key()))
        return {"keys": [{**published, "kid": "main", "use": "sig", "alg": "RS256"}]}

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        assert asked["client_id"] == CLIENT_ID
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token_for(self, form: dict[str, str]) -> dict[str, Any] | None:
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        is_right = asked is not None and (
            form.get("client_id"),
            form.get("client_secret"),
            form.get("redirect_uri"),
            challenge,
        ) == (CLIENT_ID, CLIENT_SECRET, asked["redirect_uri"], asked["code_challenge"])
        if not is_right or asked is None:
            return None
        return {"access_token": "x", "token_type": "Bearer", "id_token": self.id_token(asked)}

    def id_token(self, asked: dict[str, str]) -> str:
        moment = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": moment,
            "exp": moment + 300,
            "nonce": asked["nonce"],
            **self.person,
            **self.lies,
        }
        told = {name: value for name, value in claims.items() if value is not None}
        if self.algorithm == "none":
            return jwt.encode(told, "", algorithm="none")
        if self.algorithm == "HS256":  # with what everybody can read as the secret
            return jwt.encode(told, "x" * 64, algorithm="HS256", headers={"kid": "main"})
        return jwt.encode(told, a_key(self.signed_by), "RS256", headers={"kid": "main"})


@contextmanager
def running_provider() -> Iterator[OidcServer]:
    server = OidcServer()
    with answering(server.answer) as place:
        server.issuer = f"http://{place}"
        yield server
