"""A client that remembers what was sent and answered, for a person who wants to see it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from workers.engine.http.client import Client
from workers.engine.http.connection import Answer


class RawExchange(NamedTuple):
    """With its secrets: whoever shows it takes them out."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    answer: Answer | None  # None: none came


class RecordingClient(Client):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.exchanges: list[RawExchange] = []

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        answer: Answer | None = None
        try:
            answer = await super().send(method, url, headers, body)
            return answer
        finally:
            self.exchanges.append(RawExchange(method, url, headers, body, answer))
