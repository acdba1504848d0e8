"""What goes wrong between a program and the site."""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """All of them."""


class Unreachable(ClientError):
    """Nobody answers at the address of the site, or something that is no site does."""


class Refused(ClientError):
    """The site refuses a request. `problems` has each with its place in what was sent."""

    def __init__(self, status: int, detail: str, problems: list[dict[str, Any]]) -> None:
        self.status = status
        self.problems = problems
        places = (f"{one.get('path', '')}: {one.get('message', '')}" for one in problems)
        super().__init__("\n".join([f"{detail} (HTTP {status})", *places]))
