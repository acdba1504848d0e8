"""The providers of a run's endpoints, as they are now: shared by its chunks in a process."""

from collections.abc import Mapping
from typing import Any

from runs.models import Endpoint
from workers.engine.providers import Provider
from workers.wiring import Clients, build_provider


class RunProviders(dict[str, Provider]):
    """By the name of the endpoint. Chunks take minutes: a key that is replaced, or an address that
    is no longer allowed, must hold for the next call."""

    def __init__(self, clients: Clients) -> None:
        super().__init__()
        self._clients = clients
        self._made_of: dict[str, tuple[Any, ...]] = {}

    def change(self, endpoints: Mapping[str, Endpoint]) -> None:
        """Make those anew whose endpoint is another than it was."""
        for name, one in endpoints.items():
            urls = (one.base_url, tuple(one.more_urls), tuple(one.private_addresses))
            network = (one.headers_ciphertext, one.proxy_shown, one.proxy_ciphertext, one.ca_bundle)
            made_of = (one.pk, one.kind, one.key_ciphertext, *urls, one.options, *network)
            if self._made_of.get(name) != made_of:
                self[name] = build_provider(one, self._clients.of(one))
                self._made_of[name] = made_of
