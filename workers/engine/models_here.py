"""The models of some endpoints for a notebook or script, without the site: one throttle, one cache
and one flight of equal calls for all that use them, from any thread.

    with Models({"local": Endpoint("http://127.0.0.1:11434", kind="ollama")}) as models:
        critic = Critic(models, {"rubric": {"judge": "local/llama3", "rubric": "It is polite."}})
"""

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from random import Random
from typing import Any, NamedTuple, Self, TypeVar

from workers.engine.calling.asking import Asking, AskParts, count_calls
from workers.engine.calling.cache import MemoryCache, ReplyCache, SingleFlight
from workers.engine.calling.calls import Caller, CallParts, CallRules
from workers.engine.calling.prices import Prices
from workers.engine.clock import SystemClock
from workers.engine.errors import Refused
from workers.engine.http import Client
from workers.engine.json_text import digest
from workers.engine.lanes import ProcessShare
from workers.engine.providers import PROVIDERS
from workers.engine.providers.servers import Servers
from workers.engine.records import Reply, Request
from workers.engine.throttling.permits import LocalPermits, Quota
from workers.engine.throttling.throttle import Throttle

Result = TypeVar("Result")


class Endpoint(NamedTuple):
    """Where models are called, and as whom."""

    base_url: str
    api_key: str = ""
    kind: str = "openai"
    base_urls: tuple[
        str, ...
    ] = ()  # of further servers with the same models, which share the calls

    @property
    def servers(self) -> Servers:
        return Servers([self.base_url, *self.base_urls])

    @property
    def service(self) -> str:
        return f"{self.kind} {self.base_url.rstrip('/')} {digest(self.api_key)}"


class Models:
    """At most `max_concurrent` calls are in flight. Equal calls are made once; `cache=None` makes
    every call. A call that fails is tried `attempts` times, and its error raised."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        *,
        max_concurrent: int = 8,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        attempts: int = 5,
        timeout_seconds: float = 60.0,
        cache: ReplyCache | bool | None = True,
        prices: Prices | None = None,
        seed: int = 0,
    ) -> None:
        if max_concurrent < 1:
            raise ValueError(f"max_concurrent is {max_concurrent}. Give 1 or more.")
        unknown = {one.kind for one in endpoints.values()} - PROVIDERS.keys()
        if unknown:
            told = f"Unknown kind of endpoint: {', '.join(sorted(unknown))}."
            raise ValueError(f"{told} Choose one of: {', '.join(PROVIDERS)}.")
        self._endpoints = dict(endpoints)
        self._quota = Quota("here", max_concurrent, requests_per_minute, tokens_per_minute)
        self._rules = CallRules(
            lambda request: (self._quota,), attempts, timeout_seconds, prices or {}
        )
        self._cache = MemoryCache() if cache is True else (cache or None)
        self._seed = seed
        self.calls_sent = 0
        self.cost = 0.0  # dollars, as far as prices are known
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="models", daemon=True)
        self._thread.start()
        self.run(self._open())

    async def _open(self) -> None:
        clock = SystemClock()
        self._client = Client()
        self._parts = CallParts(
            Throttle(LocalPermits(clock.monotonic), clock), clock, Random(self._seed)
        )
        providers = {
            name: PROVIDERS[one.kind](
                self._client, one.service, one.base_url, one.api_key, one.servers
            )
            for name, one in self._endpoints.items()
        }
        self._asking = AskParts(
            Caller(providers, self._parts, self._rules),
            providers,
            self._cache or MemoryCache(),
            SingleFlight(),
            "use" if self._cache is not None else "off",
            prices=self._rules.prices,
        )

    async def ask(self, request: Request) -> Reply:
        """A whole answer, or a CallError. On the loop of these models: see `run`."""
        if request.endpoint not in self._endpoints:
            known = ", ".join(self._endpoints)
            raise Refused(f"There is no endpoint {request.endpoint!r}. These are there: {known}.")
        asking = Asking(self._asking, accepted=())
        try:
            return await asking.ask(request)
        finally:
            self.calls_sent += count_calls(asking.trace)
            self.cost += asking.bill.cost or 0.0

    @property
    def processes(self) -> ProcessShare:
        """For scorers that compute long. Closed with these models."""
        return self._parts.processes.share(self._quota.key)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """From any thread, also that of a notebook, whose own loop is running already."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self.run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        await self._parts.close()
        await self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
