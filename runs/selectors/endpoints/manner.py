"""How an endpoint is called besides its address and its key, for the engine."""

import json
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from runs.models import DIRECT, Endpoint
from runs.outbound import base_url_of, place_at, policy_for, site_proxy
from runs.secrets import decrypt
from workers.engine.http import Client, Proxy, Way, read_proxy
from workers.engine.providers import Manner
from workers.engine.providers.addresses import AddressPolicy
from workers.engine.providers.resolver import GuardedResolver

Opened = TypeVar("Opened", bound=Client)


class Route(NamedTuple):
    """Which addresses an endpoint's calls may reach, and how. Calls with the same one can share
    their connections."""

    policy: AddressPolicy
    proxy_policy: AddressPolicy
    way: Way


def manner_of(endpoint: Endpoint) -> Manner:
    return Manner(headers_of(endpoint), endpoint.options)


def headers_of(endpoint: Endpoint) -> Mapping[str, str]:
    """Secret, as keys are."""
    if not endpoint.headers_ciphertext:
        return {}
    found: dict[str, str] = json.loads(decrypt(endpoint.headers_ciphertext))
    return found


def route_of(endpoint: Endpoint) -> Route:
    """Its own proxy must be allowed as its servers are; that of the site is the host operator's."""
    policy = policy_for(endpoint)
    if endpoint.proxy_shown:
        return Route(policy, policy, Way(own_proxy(endpoint), endpoint.ca_bundle))
    proxy = site_proxy(base_url_of(endpoint))
    place = {place_at(proxy.address)} if proxy else set()
    return Route(policy, AddressPolicy(frozenset(place)), Way(proxy, endpoint.ca_bundle))


def own_proxy(endpoint: Endpoint) -> Proxy | None:
    if endpoint.proxy_shown == DIRECT:
        return None
    return read_proxy(decrypt(endpoint.proxy_ciphertext))


def open_client(route: Route, make: type[Opened] = Client) -> Opened:  # type: ignore[assignment]
    return make(
        GuardedResolver(route.policy),
        way=route.way,
        resolve_proxy=GuardedResolver(route.proxy_policy),
    )
