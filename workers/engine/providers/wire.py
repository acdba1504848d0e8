"""What all providers share: one JSON request to the best server of an endpoint, and its answer."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from workers.engine.json_text import to_json
from workers.engine.providers.answers import call_error
from workers.engine.providers.http import Answer, post
from workers.engine.providers.servers import Servers


class Wire:
    """Sends with the endpoint's headers, to the endpoint's own servers and nowhere else."""

    def __init__(
        self, client: aiohttp.ClientSession, servers: Servers, headers: Mapping[str, str], key: str
    ) -> None:
        self._client = client
        self._servers = servers
        self._headers = {"Content-Type": "application/json", **headers}
        self._key = key

    async def post(self, path: str, document: Mapping[str, Any]) -> Answer:
        """An answer with status 200, or the CallError that another one means."""
        body = to_json(document)
        answer = await self._servers.call(
            lambda url: post(self._client, url + path, body, self._headers)
        )
        if answer.status != 200:
            raise call_error(answer, self._key)
        return answer


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def service_name(kind: str, base_url: str) -> str:
    """Kind and first host. The simulated provider gives the same answers wherever it was started,
    and further servers of an endpoint offer the same models."""
    return kind if kind == "simulated" else f"{kind} {urlsplit(base_url).netloc}"
