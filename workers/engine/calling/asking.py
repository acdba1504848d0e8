"""The calls that one trial makes in one role: through cache and single flight to the provider."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workers.engine.calling.cache import Flights, ReplyCache, cache_key
from workers.engine.calling.calls import Caller
from workers.engine.calling.flaws import check_whole, is_kept
from workers.engine.calling.prices import Bill, Prices
from workers.engine.outside import Outside
from workers.engine.providers import Provider
from workers.engine.records import JOINED, Attempt, Reply, Request

CACHE_HIT = Attempt("cache hit", "ok", 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class AskParts:
    """How a run asks. `cache_mode` is use, refresh (write only) or off."""

    caller: Caller
    providers: Mapping[str, Provider]
    cache: ReplyCache
    flights: Flights
    cache_mode: str = "use"
    scope: str = ""
    prices: Prices = field(default_factory=dict)
    accepted: Collection[str] = ()  # the flaws of answers that are scored all the same
    services: Mapping[str, str] = field(default_factory=dict)  # at first: providers may change
    outside: Outside = field(default_factory=Outside)  # for scorers that ask what is no model

    def key(self, request: Request) -> str:
        return cache_key(self.service_of(request), request)

    def service_of(self, request: Request) -> str:
        """Whose answer is expected."""
        first = self.services.get(request.endpoint)
        return first or self.providers[request.endpoint].service


@dataclass(frozen=True, slots=True)
class Known:
    """A request that was looked up with those of other trials, and what was found."""

    request: Request
    key: str
    hit: Reply | None


class NotKept(Exception):
    """An answer that no equal call may share."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.flaw)
        self.reply = reply


class Asking:
    """What a target or a judge is handed `ask` of. Notes what became of the calls, and the bill."""

    __slots__ = ("_accepted", "_cache_mode", "_known", "_parts", "bill", "trace")

    def __init__(
        self,
        parts: AskParts,
        known: Known | None = None,
        *,
        accepted: Collection[str] | None = None,
        past_cache: bool = False,
    ) -> None:
        """`accepted` are the flaws with which an answer may be gone on with: what is made of a cut
        one would look like a whole one. None: whoever asks looks at that."""
        self._parts = parts
        self._accepted = accepted
        self._known = known
        is_refreshing = past_cache and parts.cache_mode == "use"
        self._cache_mode = "refresh" if is_refreshing else parts.cache_mode
        self.trace: list[Attempt] = []
        self.bill = Bill(parts.prices)

    def can_reach(self, endpoint: str) -> bool:
        return endpoint in self._parts.providers

    async def ask(self, request: Request) -> Reply:
        if self._known is not None and request is self._known.request:
            key, hit = self._known.key, self._known.hit
        else:
            key = self._parts.key(request)
            hit = await self._look_up(key)
        if hit is not None:
            self.trace.append(CACHE_HIT._replace(step=request.step))
            reply = as_cached(hit)
        else:
            reply = await self._fly(request, key)
        self.bill.add(request, reply)
        if self._accepted is not None:
            check_whole(reply, self._accepted, request.body, request.step)
        return reply

    async def _look_up(self, key: str) -> Reply | None:
        """A later call of a trial: its key is known only now."""
        if self._cache_mode != "use":
            return None
        return (await self._parts.cache.get_many([key])).get(key)

    async def _fly(self, request: Request, key: str) -> Reply:
        parts = self._parts
        if self._cache_mode == "off":
            return await parts.caller.call(request, self.trace)

        async def call() -> Reply:
            reply = await parts.caller.call(request, self.trace)
            if not is_kept(reply, parts.accepted):
                raise NotKept(reply)
            if reply.service != parts.service_of(request):  # key or address changed under way
                parts.cache.put(cache_key(reply.service, request), request, reply)
                raise NotKept(reply)
            parts.cache.put(key, request, reply)
            return reply

        # Who refreshes wants answers of its own time: it joins no calls of other runs.
        scope = parts.scope if self._cache_mode == "refresh" else ""
        try:
            landing = await parts.flights.fly(key, call, scope)
        except NotKept as flawed:
            return flawed.reply
        if not landing.is_joined:
            return landing.reply
        self.trace.append(Attempt(JOINED, "ok", 0.0, 0.0, step=request.step))
        return as_cached(landing.reply)


def as_cached(reply: Reply) -> Reply:
    """With the time that the call took when it was made."""
    return replace(reply, cached=True)


def count_calls(trace: Sequence[Attempt]) -> int:
    return sum(attempt.what == "call" for attempt in trace)
