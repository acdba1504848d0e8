"""A sign-in provider (OpenID Connect) over HTTP, with real keys and signatures, for tests to play
with: it checks client, redirect address and PKCE as a provider does, and can be told to lie."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

CLIENT_ID, CLIENT_SECRET = "evalsite-test", "oidc-canary-secret"


@cache
def a_key(number: int) -> RSAPrivateKey:
    """The same number, the same key."""
    return generate_private_key(public_exponent=65537, key_size=2048)


class OidcServer(ThreadingHTTPServer):
    """`person` signs in at once. `lies` replace claims of the token, `signed_by` another key than
    the published one signs, `documents` replace what the discovery document says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
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

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

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


class Handler(BaseHTTPRequestHandler):
    server: OidcServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.server.asked.append(url.path)
        if url.path == "/authorize":
            self.send_response(302)
            self.send_header("Location", self.server.authorize(dict(parse_qsl(url.query))))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        pages = {"/.well-known/openid-configuration": self.server.document}
        pages |= {"/keys": self.server.keys}
        self.answer(200 if url.path in pages else 404, pages.get(url.path, dict)())

    def do_POST(self) -> None:
        self.server.asked.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        token = self.server.token_for(dict(parse_qsl(body)))
        self.answer(200 if token else 400, token or {"error": "invalid_grant"})

    def answer(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def running_provider() -> Iterator[OidcServer]:
    with OidcServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
