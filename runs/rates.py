"""How many requests a minute a token or a person may make: counted in Redis, or here while Redis is
away."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import redis
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from redis.backoff import NoBackoff
from redis.retry import Retry

from runs.formatting import counted

WINDOW_SECONDS = 60
TIMEOUT_SECONDS = 0.25  # an answer must not wait for a count
AWAY_SECONDS = 5.0  # how long Redis is not asked again after it did not answer

View = TypeVar("View", bound=Callable[..., HttpResponse])


class Rate(NamedTuple):
    limit: int
    used: int
    reset_seconds: int

    @property
    def is_over(self) -> bool:
        return self.used > self.limit

    @property
    def sentence(self) -> str:
        return f"More than {counted(self.limit, 'request')} a minute. Wait {self.reset_seconds} s."

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(0, self.limit - self.used)),
            "RateLimit-Reset": str(self.reset_seconds),
        }


class RateCounter:
    """Counts by whole minutes. Processes that count by themselves allow the limit each."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(
            url,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._away_until = 0.0
        self._window = 0
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, who: str, limit: int) -> Rate:
        """One more request of somebody."""
        window, passed = divmod(int(time.time()), WINDOW_SECONDS)
        used = self._count_in_redis(who, window)
        if used is None:
            used = self._count_here(who, window)
        return Rate(limit, used, WINDOW_SECONDS - passed)

    def _count_in_redis(self, who: str, window: int) -> int | None:
        if time.monotonic() < self._away_until:
            return None
        key = f"api:rate:{who}:{window}"
        try:
            with self._client.pipeline(transaction=False) as pipe:
                pipe.incr(key)
                pipe.expire(key, 2 * WINDOW_SECONDS)
                return int(pipe.execute()[0])
        except (redis.RedisError, OSError):
            self._away_until = time.monotonic() + AWAY_SECONDS
            return None

    def _count_here(self, who: str, window: int) -> int:
        with self._lock:
            if window != self._window:
                self._window = window
                self._counts.clear()
            self._counts[who] += 1
            return self._counts[who]


_counter: RateCounter | None = None


def take_request(who: str, limit: int) -> Rate:
    global _counter
    if _counter is None:
        _counter = RateCounter(settings.REDIS_URL)
    return _counter.take(who, limit)


def refuse_request(request: HttpRequest, sentence: str) -> HttpResponse:
    if "X-Part" in request.headers:  # a script, which puts the answer into its page
        return HttpResponse(sentence, status=429, content_type="text/plain; charset=utf-8")
    return render(request, "429.html", {"sentence": sentence}, status=429)


def when_too_often(
    answer: Callable[[HttpRequest, str], HttpResponse] = refuse_request,
    *,
    also_reading: bool = False,
) -> Callable[[View], View]:
    """Declare that what is sent to a view takes work, and what it answers to somebody who sends too
    much in a minute. All such views count together. With `also_reading` looking takes work, too."""

    def declare(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method != "POST" and not also_reading:
                return view(request, *args, **kwargs)
            rate = take_request(f"work:{request.user.pk}", settings.WORK_REQUESTS_PER_MINUTE)
            if not rate.is_over:
                return view(request, *args, **kwargs)
            refused = answer(request, rate.sentence)
            refused.headers["Retry-After"] = str(rate.reset_seconds)
            return refused

        return cast(View, guarded)

    return declare
