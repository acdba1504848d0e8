"""The provider's limits: requests and tokens in a sliding window, and requests at once."""

from collections import Counter, defaultdict, deque
from heapq import heappop, heappush
from math import ceil, inf
from typing import NamedTuple

from workers.simulator.records import Headers, Refusal
from workers.simulator.settings import Settings

MINUTE_SECONDS = 60.0
BUSY_RETRY_SECONDS = 1.0  # nobody knows when a slot gets free; a second is what providers say


class Admission(NamedTuple):
    """Whether a request may pass, and the limit headers its response carries either way."""

    refusal: Refusal | None
    headers: Headers


class SlidingWindow:
    """What was used during the last `length` seconds."""

    __slots__ = ("_entries", "_used")

    def __init__(self) -> None:
        self._entries: deque[tuple[float, int]] = deque()
        self._used = 0

    def used(self, now: float, length: float) -> int:
        while self._entries and self._entries[0][0] <= now - length:
            self._used -= self._entries.popleft()[1]
        return self._used

    def add(self, now: float, amount: int) -> None:
        self._entries.append((now, amount))
        self._used += amount

    def wait_seconds(self, now: float, length: float, amount: int, capacity: int) -> float:
        """How long until `amount` fits; 0 if it fits now, infinite if it never will."""
        surplus = self.used(now, length) + amount - capacity
        if surplus <= 0:
            return 0.0
        for entered, entry_amount in self._entries:
            surplus -= entry_amount
            if surplus <= 0:
                return entered + length - now
        return inf

    def reset_seconds(self, now: float, length: float) -> float:
        """How long until the window is empty again if nothing more comes."""
        return max(0.0, self._entries[-1][0] + length - now) if self._entries else 0.0


class Turns:
    """Requests that are worked on at once, of one scope: the others wait, the first come first."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends: list[float] = []  # a heap: when each of those under way is done

    def due(self, now: float, seconds: float, at_once: int) -> float:
        """When a request is answered that comes now and takes so long."""
        while self._ends and self._ends[0] <= now:
            heappop(self._ends)
        begins = now
        while len(self._ends) >= at_once:
            begins = heappop(self._ends)
        heappush(self._ends, begins + seconds)
        return begins + seconds


class Limits:
    """Admits or refuses each request; keeps one set of counts per scope (server or model)."""

    def __init__(self) -> None:
        self._in_flight: Counter[str] = Counter()
        self._requests: defaultdict[str, SlidingWindow] = defaultdict(SlidingWindow)
        self._tokens: defaultdict[str, SlidingWindow] = defaultdict(SlidingWindow)
        self._turns: defaultdict[str, Turns] = defaultdict(Turns)

    def admit(self, settings: Settings, scope: str, tokens: int, now: float) -> Admission:
        """Counts the request if it passes; a refused one uses up nothing."""
        refusal = self._refusal(settings, scope, tokens, now)
        if refusal is None:
            self._in_flight[scope] += 1
            if settings.rpm is not None:
                self._requests[scope].add(now, 1)
            if settings.tpm is not None:
                self._tokens[scope].add(now, tokens)
        return Admission(refusal, self._headers(settings, scope, now))

    def due(self, settings: Settings, scope: str, seconds: float, now: float) -> float:
        """When a request that takes so long is answered."""
        if settings.num_parallel is None:
            return now + seconds
        return self._turns[scope].due(now, seconds, settings.num_parallel)

    def release(self, scope: str) -> None:
        self._in_flight[scope] -= 1

    def _refusal(self, settings: Settings, scope: str, tokens: int, now: float) -> Refusal | None:
        most = settings.max_in_flight
        if most is not None and self._in_flight[scope] >= most:
            return _refuse(scope, "requests in flight", "requests", most, BUSY_RETRY_SECONDS)
        length = settings.window_seconds
        if settings.rpm is not None:
            capacity = _capacity(settings.rpm, length)
            wait = self._requests[scope].wait_seconds(now, length, 1, capacity)
            if wait:
                return _refuse(scope, "requests per min (RPM)", "requests", settings.rpm, wait)
        if settings.tpm is not None:
            capacity = _capacity(settings.tpm, length)
            wait = self._tokens[scope].wait_seconds(now, length, tokens, capacity)
            if wait:
                # A request above the whole limit never fits; like the real one, say 429 anyway.
                wait = min(wait, length)
                return _refuse(scope, "tokens per min (TPM)", "tokens", settings.tpm, wait)
        return None

    def _headers(self, settings: Settings, scope: str, now: float) -> Headers:
        length = settings.window_seconds
        headers: Headers = ()
        if settings.limit_headers == "hidden":  # as of providers that only say 429
            return headers
        if settings.rpm is not None:
            headers += _limit_headers("requests", settings.rpm, self._requests[scope], length, now)
        if settings.tpm is not None:
            headers += _limit_headers("tokens", settings.tpm, self._tokens[scope], length, now)
        return headers


def _capacity(per_minute: int, window_seconds: float) -> int:
    """A minute's limit for a window of another length; at least one, or nothing would pass."""
    return max(1, int(per_minute * window_seconds / MINUTE_SECONDS))


def _refuse(scope: str, what: str, kind: str, limit: int, wait: float) -> Refusal:
    return Refusal(
        status=429,
        message=f"Rate limit reached for {scope} on {what}: Limit {limit}. "
        f"Please try again in {show_duration(wait)}.",
        kind=kind,
        code="rate_limit_exceeded",
        headers=retry_headers(wait),
    )


def retry_headers(seconds: float) -> Headers:
    """When to come back: whole seconds as HTTP has it, and exactly, as OpenAI adds."""
    milliseconds = ceil(seconds * 1000)
    return (
        ("retry-after", str(ceil(milliseconds / 1000))),
        ("retry-after-ms", str(milliseconds)),
    )


def _limit_headers(
    name: str, limit: int, window: SlidingWindow, length: float, now: float
) -> Headers:
    remaining = max(0, _capacity(limit, length) - window.used(now, length))
    return (
        (f"x-ratelimit-limit-{name}", str(limit)),
        (f"x-ratelimit-remaining-{name}", str(remaining)),
        (f"x-ratelimit-reset-{name}", show_duration(window.reset_seconds(now, length))),
    )


def show_duration(seconds: float) -> str:
    """A duration as OpenAI writes it: 12ms, 1.5s, 6m0s."""
    milliseconds = ceil(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    shown = f"{rest / 1000:.3f}".rstrip("0").rstrip(".")
    return f"{minutes}m{shown}s" if minutes else f"{shown}s"
