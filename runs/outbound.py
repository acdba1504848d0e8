"""Which addresses an endpoint or a webhook may have: the engine's policy, from the settings."""

from collections.abc import Sequence

from django.conf import settings
from yarl import URL

from runs.models import Endpoint, EndpointKind
from workers.engine.errors import ForbiddenAddress, PrivateAddress
from workers.engine.http import Way, read_proxy
from workers.engine.providers.addresses import AddressPolicy, check_url, place_of
from workers.engine.providers.routes import Route

BY_AN_ADMIN = "An admin can allow it for this endpoint under Private addresses (private_addresses)."
BY_THE_HOST = (
    "To allow it, set the environment variable EVALSITE_ALLOWED_PRIVATE_ENDPOINTS={place} "
    "(several: separated by commas) and restart the site."
)
FOR_NO_WEBHOOK = "Webhooks are sent to public addresses only, also where endpoints may call others."

NEEDS_A_TICK = "private"  # the code of an error about an address that only has to be allowed


def admins_may_allow() -> bool:
    """Whether a tick of an admin opens a private address, or only the host's operator does."""
    return bool(settings.PRIVATE_ENDPOINTS == "ask")


def policy_for(endpoint: Endpoint) -> AddressPolicy:
    """Private places that the host's operator allowed for all endpoints, or an admin for this one;
    the simulated provider's own for its kind."""
    allowed = frozenset(settings.ALLOWED_PRIVATE_ENDPOINTS)
    if endpoint.kind == EndpointKind.SIMULATED:
        allowed |= {place_at(settings.SIMULATOR_URL)}
    if not admins_may_allow():
        return AddressPolicy(allowed, advice=BY_THE_HOST)
    return AddressPolicy(allowed, frozenset(endpoint.private_addresses), BY_AN_ADMIN)


def webhook_policy() -> AddressPolicy:
    """Runners add webhooks: what endpoints may call is none of theirs."""
    return AddressPolicy(frozenset(settings.UNSAFE_WEBHOOK_ADDRESSES), advice=FOR_NO_WEBHOOK)


def webhook_route() -> Route:
    """Runners name these addresses, so no switch has a proxy look them up."""
    return Route(webhook_policy(), site_proxy_policy(), site_way()._replace(tells_names=False))


def sign_in_route(issuer: str) -> Route:
    """The host's operator named the issuer, so it may be private; what its documents name may only
    be public, or among what is allowed for endpoints."""
    allowed = {place_at(issuer), *settings.ALLOWED_PRIVATE_ENDPOINTS}
    policy = AddressPolicy(frozenset(allowed), advice=BY_THE_HOST)
    return Route(policy, site_proxy_policy(), site_way())


def check_webhook(url: str) -> str:
    """The address, or ForbiddenAddress saying what is wrong with it. A query is allowed."""
    return str(check_url(url, webhook_policy()))


def base_url_of(endpoint: Endpoint) -> str:
    """Where the endpoint's calls go: its own URL, or the simulated provider of this site."""
    if endpoint.base_url:
        return endpoint.base_url.rstrip("/")
    return f"{settings.SIMULATOR_URL.rstrip('/')}/v1"


def places_of(urls: Sequence[object]) -> list[str]:
    """`host:port` of each URL that has one."""
    found = []
    for url in urls:
        try:
            found.append(place_at(str(url)))
        except ValueError:  # no URL: whoever checks it says so
            continue
    return list(dict.fromkeys(found))


def check_servers(endpoint: Endpoint) -> tuple[str, ...]:
    """All URLs of the endpoint, the base URL first, or ForbiddenAddress about one of them, or about
    its own proxy."""
    policy = policy_for(endpoint)
    check_proxy(endpoint)
    more = (check_server(url, policy) for url in endpoint.more_urls)
    return tuple(dict.fromkeys((check_endpoint(endpoint), *more)))


def places_to_tick(endpoint: Endpoint) -> list[str]:
    """Of the endpoint's addresses those that only a tick of an admin is missing for."""
    policy, found = policy_for(endpoint), []
    for url in endpoint.called_urls if admins_may_allow() else ():
        try:
            check_server(url, policy)
        except PrivateAddress as error:
            found.append(error.place)
        except ForbiddenAddress:
            continue
    return found


def check_proxy(endpoint: Endpoint) -> None:
    """Its own one; that of the site is the host operator's."""
    if endpoint.has_proxy:
        check_url(read_proxy(endpoint.proxy_shown).address, policy_for(endpoint))


def site_way(ca_bundle: str = "") -> Way:
    """What HTTPS_PROXY and NO_PROXY say: as elsewhere, only https goes through the proxy."""
    proxy = read_proxy(settings.HTTPS_PROXY) if settings.HTTPS_PROXY else None
    return Way(
        proxy,
        ca_bundle,
        tuple(settings.NO_PROXY),
        is_for_http=False,
        tells_names=settings.UNSAFE_PROXY_LOOKS_UP,
    )


def site_proxy_policy() -> AddressPolicy:
    """The host's operator named the proxy, so it may be private."""
    places = {place_at(read_proxy(settings.HTTPS_PROXY).address)} if settings.HTTPS_PROXY else set()
    return AddressPolicy(frozenset(places))


def check_endpoint(endpoint: Endpoint) -> str:
    """The endpoint's base URL, or ForbiddenAddress saying what is wrong with it."""
    if not endpoint.base_url and endpoint.kind != EndpointKind.SIMULATED:
        raise ForbiddenAddress(
            "An endpoint of this kind needs a base URL, as in https://provider.example/v1."
        )
    return check_server(base_url_of(endpoint), policy_for(endpoint))


def check_server(url: str, policy: AddressPolicy) -> str:
    parsed = check_url(url, policy)
    if parsed.raw_query_string or parsed.raw_fragment or url.endswith(("?", "#")):
        raise ForbiddenAddress(
            "The base URL ends before any ? or #. Keys belong into the key field, not the URL."
        )
    return str(parsed).rstrip("/")


def place_at(url: str) -> str:
    """ValueError if it is no URL. Read as by the check of addresses."""
    read = URL(url)
    return place_of(read.raw_host or "", read.port or 0)
