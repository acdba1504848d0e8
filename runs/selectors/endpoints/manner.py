"""How an endpoint is called besides its address and its key, for the engine."""

import json
from collections.abc import Mapping

from django.conf import settings

from runs.models import DIRECT, Endpoint
from runs.outbound import policy_for, site_proxy_policy, site_way
from runs.secrets import decrypt
from workers.engine.http import Proxy, Way, read_proxy
from workers.engine.providers import Manner
from workers.engine.providers.routes import Route


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
        way = Way(own_proxy(endpoint), endpoint.ca_bundle)
        return Route(policy, policy, way._replace(tells_names=settings.UNSAFE_PROXY_LOOKS_UP))
    return Route(policy, site_proxy_policy(), site_way(endpoint.ca_bundle))


def own_proxy(endpoint: Endpoint) -> Proxy | None:
    if endpoint.proxy_shown == DIRECT:
        return None
    return read_proxy(decrypt(endpoint.proxy_ciphertext))
