"""Builds what a worker process needs from the settings: client, throttle, providers, executor."""

import os
import socket
import uuid
from collections.abc import Mapping
from random import Random

import aiohttp
import redis.asyncio
from django.conf import settings

from runs.models import Endpoint
from runs.outbound import check_endpoint, shared_policy
from runs.secrets import decrypt
from workers.engine.cache import ReplyCache, SingleFlight
from workers.engine.calls import Caller
from workers.engine.clock import SystemClock
from workers.engine.executor import Executor
from workers.engine.permits import LocalPermits, Quota
from workers.engine.providers import PROVIDERS, Provider
from workers.engine.providers.http import open_client
from workers.engine.providers.resolver import GuardedResolver
from workers.engine.records import Request
from workers.engine.scorers import build_scorer
from workers.engine.spec import Configuration
from workers.engine.targets import TARGETS
from workers.engine.throttle import Throttle
from workers.redis_permits import RedisPermits

REDIS_TIMEOUT_SECONDS = 2.0  # a Redis that does not answer must not stop the calls


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"


def build_throttle(name: str) -> Throttle:
    clock = SystemClock()
    client = redis.asyncio.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
    )
    local = LocalPermits(clock.monotonic)
    return Throttle(RedisPermits(client, name, settings.WORKERS, local), clock)


def build_client() -> aiohttp.ClientSession:
    return open_client(GuardedResolver(shared_policy()))


def build_provider(endpoint: Endpoint, client: aiohttp.ClientSession) -> Provider:
    key = decrypt(endpoint.key_ciphertext) if endpoint.has_key else ""
    return PROVIDERS[endpoint.kind](client, endpoint.kind, check_endpoint(endpoint), key)


def build_executor(
    run_id: int,
    configuration: Configuration,
    endpoints: Mapping[str, Endpoint],
    *,
    client: aiohttp.ClientSession,
    throttle: Throttle,
    cache: ReplyCache,
    flights: SingleFlight,
) -> Executor:
    providers = {name: build_provider(item, client) for name, item in endpoints.items()}
    limits = configuration.limits
    of_run = Quota(f"run:{run_id}", limits.max_concurrent, limits.requests_per_minute)
    of_models = {
        (model.endpoint, model.model): (of_run, model_quota(endpoints[model.endpoint], model.model))
        for model in configuration.models
    }

    def quotas(request: Request) -> tuple[Quota, ...]:
        return of_models[request.endpoint, request.model]

    caller = Caller(
        providers,
        throttle,
        quotas,
        SystemClock(),
        Random(),
        attempts=limits.attempts,
        timeout_seconds=limits.timeout_seconds,
    )
    scorers = [build_scorer(scorer.name, scorer.options) for scorer in configuration.scorers]
    target = TARGETS[configuration.kind]()
    return Executor(target, caller, providers, scorers, cache, flights, configuration.cache)


def model_quota(endpoint: Endpoint, model: str) -> Quota:
    """One limit per endpoint and model, for all runs and workers."""
    key = f"endpoint:{endpoint.pk}/{model}"
    return Quota(key, endpoint.max_concurrent, endpoint.requests_per_minute)
