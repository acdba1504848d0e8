"""Requests to the REST API, with the standard library alone."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from evalsite.client.errors import ClientError, Refused, Unreachable

ROOT = "/api/v1"
TIMEOUT_SECONDS = 60.0
ATTEMPTS = 4
PAUSE_SECONDS = 0.5  # before the second attempt; then twice as long each time
LONGEST_PAUSE_SECONDS = 30.0
MOST_ROWS = 500  # in one answer
TRY_AGAIN = (429, 503)


class NoRedirects(HTTPRedirectHandler):
    """The token is for the site that was named, and for no other."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Answer(NamedTuple):
    body: bytes

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise Unreachable("What answers there is no evalsite: it sends no JSON.") from None


class Site:
    """Where the site is, and as whom it is asked."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ClientError(f"{url!r} is no address of a site. Write http://127.0.0.1:8000.")
        if not token:
            raise ClientError(
                "A token is needed. Make one on the page Tokens, or with `evalsite create_token "
                "NAME`, and give it as the second argument or as EVALSITE_TOKEN."
            )
        self.url = url.rstrip("/")
        self._token = token
        self._opener = build_opener(NoRedirects())

    def __repr__(self) -> str:
        return f"Site({self.url!r})"  # without the token

    def get(self, path: str, accept: str = "application/json", **query: Any) -> Answer:
        chosen = urlencode({name: value for name, value in query.items() if value is not None})
        address = f"{self.url}{ROOT}{path}" + (f"?{chosen}" if chosen else "")
        return self._send(Request(address, headers=self._headers(Accept=accept)), ATTEMPTS)

    def pages(self, path: str, most: int | None = None, **query: Any) -> list[dict[str, Any]]:
        """The items of a list, all of them or the first."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            limit = MOST_ROWS if most is None else min(MOST_ROWS, most - len(found))
            page = self.get(path, limit=limit, cursor=cursor, **query).json()
            found += page["data"]
            cursor = page["next_cursor"]
            if not cursor or (most is not None and len(found) >= most):
                return found

    def post(self, path: str, body: Any, key: str = "") -> Answer:
        """With a `key` it may be sent again: the site does it once."""
        headers = self._headers(Accept="application/json")
        headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        data = json.dumps(body).encode()
        request = Request(f"{self.url}{ROOT}{path}", data, headers, method="POST")
        return self._send(request, ATTEMPTS if key else 1)

    def _headers(self, **more: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", **more}

    def _send(self, request: Request, attempts: int) -> Answer:
        pause = PAUSE_SECONDS
        for left in range(attempts - 1, -1, -1):
            try:
                with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                    return Answer(response.read())
            except HTTPError as error:
                if error.code not in TRY_AGAIN or not left:
                    raise refusal(error) from None
                pause = max(pause, seconds_asked(error))
            except (URLError, OSError) as error:
                if not left:
                    reason = getattr(error, "reason", error)
                    raise Unreachable(f"{self.url} does not answer: {reason}.") from None
            time.sleep(min(pause, LONGEST_PAUSE_SECONDS))
            pause *= 2
        raise AssertionError("unreachable")  # pragma: no cover


def seconds_asked(error: HTTPError) -> float:
    text = str(error.headers.get("Retry-After", ""))
    return float(text) if text.isdecimal() else 0.0


def refusal(error: HTTPError) -> ClientError:
    try:
        report = json.loads(error.read())
        return Refused(error.code, str(report["detail"]), list(report.get("problems", [])))
    except (ValueError, KeyError, TypeError, OSError):
        return Unreachable(f"The answer is {error.code} {error.reason}: no evalsite is there.")
