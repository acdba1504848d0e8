"""How many live pages somebody has: counted in Redis over all web processes, or here without it."""

import threading
import time
from collections import defaultdict

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

FORGET_SECONDS = 15  # without a beat: a web process that died cannot take its sockets back
TIMEOUT_SECONDS = 0.25  # a page must not wait for a count
AWAY_SECONDS = 5.0  # how long Redis is not asked again after it did not answer

# On the server's clock, so that web processes with different clocks forget the same sockets.
KEEP = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
local is_new = not redis.call('ZSCORE', KEYS[1], ARGV[1])
if is_new and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3] + 1)
return 1
"""


class OpenSockets:
    """Every web process also counts its own, and refuses by that without asking Redis."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(
            url,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._keep = self._client.register_script(KEEP)
        self._away_until = 0.0
        self._here: defaultdict[int, dict[str, float]] = defaultdict(dict)
        self._lock = threading.Lock()

    def keep(self, person: int, socket: str, most: int) -> bool:
        """Count a socket, again at every beat. False if the person has as many others."""
        if not self._keep_here(person, socket, most):
            return False
        if not self._keep_in_redis(person, socket, most):
            self._forget_here(person, socket)
            return False
        return True

    def forget(self, person: int, socket: str) -> None:
        """It is closed."""
        self._forget_here(person, socket)
        if time.monotonic() < self._away_until:
            return
        try:
            self._client.zrem(key_of(person), socket)
        except (redis.RedisError, OSError):
            self._away_until = time.monotonic() + AWAY_SECONDS

    def _keep_here(self, person: int, socket: str, most: int) -> bool:
        now = time.monotonic()
        with self._lock:
            beats = self._here[person]
            for silent in [one for one, beat in beats.items() if now - beat > FORGET_SECONDS]:
                del beats[silent]
            if socket not in beats and len(beats) >= most:
                return False
            beats[socket] = now
            return True

    def _forget_here(self, person: int, socket: str) -> None:
        with self._lock:
            self._here[person].pop(socket, None)
            if not self._here[person]:
                del self._here[person]

    def _keep_in_redis(self, person: int, socket: str, most: int) -> bool:
        """True as well while Redis is away."""
        if time.monotonic() < self._away_until:
            return True
        try:
            return bool(self._keep(keys=[key_of(person)], args=[socket, most, FORGET_SECONDS]))
        except (redis.RedisError, OSError):
            self._away_until = time.monotonic() + AWAY_SECONDS
            return True


def key_of(person: int) -> str:
    return f"sockets:{person}"


_open: OpenSockets | None = None


def open_sockets() -> OpenSockets:
    """Those that this process counts."""
    global _open
    if _open is None:
        _open = OpenSockets(settings.REDIS_URL)
    return _open
