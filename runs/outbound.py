"""Which addresses an endpoint may have: the engine's policy, filled from the settings."""

from urllib.parse import urlsplit

from django.conf import settings

from runs.models import Endpoint, EndpointKind
from workers.engine.errors import ForbiddenAddress
from workers.engine.providers.addresses import AddressPolicy, check_url, place_of


def policy_for(kind: str) -> AddressPolicy:
    """Private places the host's operator allowed; the simulated provider's own for its kind."""
    allowed = frozenset(settings.ALLOWED_PRIVATE_ENDPOINTS)
    if kind == EndpointKind.SIMULATED:
        allowed |= {_place(settings.SIMULATOR_URL)}
    return AddressPolicy(allowed)


def shared_policy() -> AddressPolicy:
    """For a client that serves endpoints of every kind; each URL is checked by kind before."""
    return policy_for(EndpointKind.SIMULATED)


def webhook_policy() -> AddressPolicy:
    """As for a provider that is not ours."""
    return policy_for(EndpointKind.OPENAI)


def check_webhook(url: str) -> str:
    """The address, or ForbiddenAddress saying what is wrong with it. A query is allowed."""
    return str(check_url(url, webhook_policy()))


def base_url_of(endpoint: Endpoint) -> str:
    """Where the endpoint's calls go: its own URL, or the simulated provider of this site."""
    if endpoint.base_url:
        return endpoint.base_url.rstrip("/")
    return f"{settings.SIMULATOR_URL.rstrip('/')}/v1"


def check_servers(endpoint: Endpoint) -> tuple[str, ...]:
    """All URLs of the endpoint, the base URL first, or ForbiddenAddress about one of them."""
    more = (check_server(url, endpoint.kind) for url in endpoint.more_urls)
    return tuple(dict.fromkeys((check_endpoint(endpoint), *more)))


def check_endpoint(endpoint: Endpoint) -> str:
    """The endpoint's base URL, or ForbiddenAddress saying what is wrong with it."""
    if not endpoint.base_url and endpoint.kind != EndpointKind.SIMULATED:
        raise ForbiddenAddress(
            "An endpoint of this kind needs a base URL, as in https://provider.example/v1."
        )
    return check_server(base_url_of(endpoint), endpoint.kind)


def check_server(url: str, kind: str) -> str:
    parsed = check_url(url, policy_for(kind))
    if parsed.raw_query_string or parsed.raw_fragment or url.endswith(("?", "#")):
        raise ForbiddenAddress(
            "The base URL ends before any ? or #. Keys belong into the key field, not the URL."
        )
    return str(parsed).rstrip("/")


def _place(url: str) -> str:
    parts = urlsplit(url)
    default = 443 if parts.scheme == "https" else 80
    return place_of(parts.hostname or "", parts.port or default)
