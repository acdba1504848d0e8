"""The site itself: runs are started and found here."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalsite.client.errors import ClientError
from evalsite.client.http import Site
from evalsite.client.run import Run

FILES = (".yaml", ".yml", ".json")


class Client:
    """A site and a token. Without arguments those of EVALSITE_URL and EVALSITE_TOKEN."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        url = url or os.environ.get("EVALSITE_URL") or "http://127.0.0.1:8000"
        self._site = Site(url, token or os.environ.get("EVALSITE_TOKEN", ""))

    def __repr__(self) -> str:
        return f"Client({self._site.url!r})"

    def run(self, configuration: Mapping[str, Any] | str | Path) -> Run:
        """Start a run: of a configuration, of a file with one, or of one that is stored on the site
        under this name. It goes on by itself; `wait` on it."""
        body = {"configuration": read_configuration(configuration)}
        launched = self._site.post("/runs", body, key=uuid.uuid4().hex).json()
        return self.get_run(launched["id"])

    def get_run(self, number: int) -> Run:
        return Run(self._site, self._site.get(f"/runs/{int(number)}").json())

    def runs(self, limit: int = 50, *, name: str | None = None) -> list[Run]:
        """The newest ones; `name`: a part of theirs."""
        found = self._site.pages("/runs", most=limit, name=name)
        return [Run(self._site, summary) for summary in found]

    def estimate(self, configuration: Mapping[str, Any] | str | Path) -> dict[str, Any]:
        """Calls, money and time that a run would take. Nothing is started."""
        body = {"configuration": read_configuration(configuration)}
        found: dict[str, Any] = self._site.post("/runs/estimate", body).json()
        return found


def read_configuration(given: Mapping[str, Any] | str | Path) -> Any:
    if isinstance(given, Mapping):
        return dict(given)
    path = Path(given)
    if isinstance(given, str) and path.suffix not in FILES:
        return given  # the name of one that is stored
    from workers.engine.errors import ConfigurationError
    from workers.engine.spec.documents import read_document

    try:
        document = read_document(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ClientError(f"{path} cannot be read: {error.strerror}.") from None
    except ConfigurationError as error:
        raise ClientError(f"{path}: {error}") from None
    if isinstance(document, dict):
        document.setdefault("name", path.stem)
    return document
