"""Builds what a worker process needs from the settings: client, throttle, providers, executor."""

import os
import socket
import uuid
from collections.abc import Mapping
from functools import lru_cache
from random import Random

import redis.asyncio
from django.conf import settings

from runs.models import Endpoint
from runs.outbound import check_servers, webhook_route
from runs.secrets import decrypt
from runs.selectors.endpoints.manner import manner_of, route_of
from runs.selectors.endpoints.service import service_with_key
from workers.engine.calling.asking import AskParts
from workers.engine.calling.cache import Flights, ReplyCache
from workers.engine.calling.calls import Caller, CallParts, CallRules, Quotas
from workers.engine.calling.prices import Prices, read_prices
from workers.engine.clock import SystemClock
from workers.engine.errors import ForbiddenAddress
from workers.engine.executor import Executor, executor_of
from workers.engine.http import Client
from workers.engine.outside import Outside
from workers.engine.providers import PROVIDERS, Provider, Servers
from workers.engine.providers.routes import Route, open_client
from workers.engine.records import Reply, Request
from workers.engine.spec.configuration import Configuration
from workers.engine.targets import TargetParts
from workers.engine.targets.slots import Slots, WorkQuotas
from workers.engine.throttling.permits import LocalPermits
from workers.engine.throttling.throttle import OnChange, OnQueueing, OnRefusals, Throttle
from workers.redis_flights import ReadCache, RedisFlights, Unstored
from workers.redis_permits import RedisPermits
from workers.redis_retry_budgets import RedisRetryBudgets

REDIS_TIMEOUT_SECONDS = 2.0  # a Redis that does not answer must not stop the calls


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"


def open_redis() -> "redis.asyncio.Redis":
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
    )


def build_flights(name: str, read_cache: ReadCache, unstored: Unstored) -> RedisFlights:
    """Joins equal calls of all workers."""
    return RedisFlights(open_redis(), name, read_cache, settings.FLIGHT_SECONDS, unstored)


def build_call_parts(
    name: str, on_change: OnChange, on_refusals: OnRefusals, on_queueing: OnQueueing
) -> CallParts:
    """What makes the calls of this process; tells of every limit that moves by itself, of calls
    that are refused in a row, and of calls that wait at the server."""
    clock = SystemClock()
    client = open_redis()
    local = LocalPermits(clock.monotonic)
    permits = RedisPermits(client, name, settings.WORKERS, local)
    throttle = Throttle(permits, clock, on_change, on_refusals, on_queueing)
    budgets = RedisRetryBudgets(client, settings.WORKERS)
    outside = Outside(webhook_route(), clock)
    return CallParts(throttle, clock, Random(), budgets, outside=outside)


class Clients:
    """A client for each route: a private address that is allowed to one endpoint is closed to the
    others, also by name and over connections that are open already. So is a proxy."""

    def __init__(self) -> None:
        self._clients: dict[Route, Client] = {}

    def of(self, endpoint: Endpoint) -> Client:
        route = route_of(endpoint)
        if route not in self._clients:
            self._clients[route] = open_client(route)
        return self._clients[route]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


class ClosedProvider:
    """Of an endpoint whose address may not be called, perhaps no longer: its calls fail, which
    pauses a run, and one that is paused can go on when the address is allowed again."""

    def __init__(self, service: str, reason: str) -> None:
        self.service = service
        self._reason = reason

    async def send(self, request: Request) -> Reply:
        raise ForbiddenAddress(self._reason)


def build_provider(endpoint: Endpoint, client: Client) -> Provider:
    key = decrypt(endpoint.key_ciphertext) if endpoint.has_key else ""
    service = service_with_key(endpoint, key)
    try:
        urls = check_servers(endpoint)
    except ForbiddenAddress as error:
        return ClosedProvider(service, str(error))
    make = PROVIDERS[endpoint.kind]
    return make(client, service, urls[0], key, servers_at(urls), manner_of(endpoint))


@lru_cache(maxsize=256)
def servers_at(urls: tuple[str, ...]) -> Servers:
    """The same object for all runs of this process: it knows who is busy and who is dead."""
    return Servers(urls)


def prices_of(configuration: Configuration, endpoints: Mapping[str, Endpoint]) -> Prices:
    """As they are now: a price that is entered during a run holds from the next chunk."""
    known = {name: read_prices(endpoint.prices) for name, endpoint in endpoints.items()}
    return {
        (model.endpoint, model.model): known[model.endpoint][model.model]
        for model in configuration.every_model
        if model.model in known[model.endpoint]
    }


def build_executor(
    run_id: int,
    configuration: Configuration,
    endpoints: Mapping[str, Endpoint],
    quotas: Quotas,
    work_quotas: WorkQuotas,
    *,
    providers: Mapping[str, Provider],
    parts: CallParts,
    cache: ReplyCache,
    flights: Flights,
) -> Executor:
    limits = configuration.limits
    prices = prices_of(configuration, endpoints)
    rules = CallRules(quotas, limits.attempts, limits.timeout_seconds, prices)
    caller = Caller(providers, parts, rules)
    asking = AskParts(
        caller,
        providers,
        cache,
        flights,
        configuration.cache,
        scope=f"run:{run_id}:",
        prices=prices,
        accepted=configuration.answers.accepted,
        services={name: provider.service for name, provider in providers.items()},
        outside=parts.outside,
    )
    processes = parts.processes.share(f"run:{run_id}")
    slots = Slots(parts.throttle, work_quotas)
    target = TargetParts(limits.timeout_seconds, parts.threads, processes, slots)
    return executor_of(configuration, asking, target)
