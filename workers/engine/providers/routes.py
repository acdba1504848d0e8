"""Which addresses calls may reach, and how they get there."""

from typing import NamedTuple, TypeVar

from workers.engine.http import DIRECTLY, Client, Resolver, Way, look_up
from workers.engine.providers.addresses import AddressPolicy
from workers.engine.providers.resolver import GuardedResolver

Opened = TypeVar("Opened", bound=Client)


class Route(NamedTuple):
    """Calls with the same one can share their connections."""

    policy: AddressPolicy = AddressPolicy()
    proxy_policy: AddressPolicy = AddressPolicy()
    way: Way = DIRECTLY


def open_client(route: Route, resolve: Resolver = look_up) -> Client:
    return open_as(Client, route, resolve)


def open_as(kind: type[Opened], route: Route, resolve: Resolver = look_up) -> Opened:
    """A client of another class, such as one that records."""
    return kind(
        GuardedResolver(route.policy, resolve),
        way=route.way,
        resolve_proxy=GuardedResolver(route.proxy_policy),
    )
