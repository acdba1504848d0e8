"""What all providers share: one JSON request to the best server of an endpoint, and its answer."""

from collections.abc import Container, Mapping
from typing import Any, ClassVar, NamedTuple

from workers.engine.http import Answer, Client
from workers.engine.json_text import to_json
from workers.engine.providers.answers import call_error, echoes_of, without_echoes
from workers.engine.providers.manner import USUAL, Manner, ProviderOptions, merged
from workers.engine.providers.model_lists import ModelList
from workers.engine.providers.servers import Servers


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


class Written(NamedTuple):
    """A request as a provider's own protocol writes it."""

    path: str  # behind the base URL
    body: Any
    method: str = "POST"


class HttpProvider:
    """One endpoint: sends with its own headers, to its own servers and nowhere else."""

    key_headers = staticmethod(bearer)
    model_list: ClassVar[ModelList | None] = None
    good: ClassVar[Container[int]] = (200,)
    options_model: ClassVar[type[ProviderOptions]] = ProviderOptions

    def __init__(
        self,
        client: Client,
        service: str,
        base_url: str,
        api_key: str = "",
        servers: Servers | None = None,
        manner: Manner = USUAL,
    ) -> None:
        self.service = service
        self._client = client
        self._servers = servers or Servers([base_url])
        self._options = manner.options
        self._headers = merged(
            {"Content-Type": "application/json"},
            self.key_headers(api_key),
            self.option_headers(manner.options),
            manner.headers,
        )
        self._secrets = (api_key, *manner.headers.values())
        self._echoes = echoes_of(self._secrets)

    @staticmethod
    def option_headers(options: Mapping[str, Any]) -> dict[str, str]:
        """What its options send along with every request. No secret."""
        return {}

    async def _post(self, path: str, document: Any, method: str = "POST") -> Answer:
        """An answer that went well, or the CallError that another one means; without our secrets,
        which either may echo."""
        body = to_json(document) if method != "GET" else b""
        answer = await self._servers.call(
            lambda url: self._client.send(method, url + path, self._headers, body)
        )
        if answer.status not in self.good:
            raise call_error(answer, *self._secrets)
        return answer._replace(body=without_echoes(answer.body, self._echoes))
