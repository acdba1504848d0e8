"""What the workers share about an endpoint's models, as permits.lua keeps it in Redis."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT_SECONDS = 1.0  # a page must not wait long for numbers that are only for a look
TOLD_MS = 600_000  # how long a provider's word about its own limits is believed
QUEUEING_MS = 60_000  # how long what was seen to wait at the server holds
MINUTE_MS = 60_000
TEXTS = (b"refusal", b"refusing")  # why calls are refused in a row, and of which models

Places = Iterable[tuple[int, str]]  # endpoint and model


@dataclass(frozen=True)
class PermitState:
    """One model of one endpoint, over all workers and runs."""

    held: Counter[int] = field(default_factory=Counter)  # calls in flight by run
    waiting: Counter[int] = field(default_factory=Counter)  # calls that want a permit, by run
    limit: int | None = None  # the adaptive one, where it is known
    calls: float = 0.0  # over the last minute, as are those below
    throttled: float = 0.0
    failed: float = 0.0
    tokens: float = 0.0
    told_requests: int = 0  # a minute, by the provider's own word; 0: it did not say
    told_tokens: int = 0
    bears: int = 0  # calls that the server works on at once, where more were seen to wait there
    is_broken: bool = False
    broken_seconds: float = 0.0  # until one call is tried; 0: one is tried now
    failing_seconds: float = 0.0  # since the breaker opened
    gate_seconds: float = 0.0  # the provider wants silence for so long
    ramp: int | None = None  # calls at once while they come back after such a silence
    requests_ahead: float = 0.0  # seconds by which calls that started are ahead of their rate
    tokens_ahead: float = 0.0


class Answers(NamedTuple):
    """What Redis has under one key."""

    held: Mapping[bytes, bytes]
    wanted: Mapping[bytes, bytes]
    expires: list[tuple[bytes, float]]
    state: Mapping[bytes, bytes]
    due: bytes | None
    tokens_due: bytes | None


@contextmanager
def open_redis(within_seconds: float = TIMEOUT_SECONDS) -> Iterator["redis.Redis"]:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=within_seconds,
        socket_connect_timeout=within_seconds,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        yield client
    finally:
        client.close()


def read_permits(places: Places) -> dict[tuple[int, str], PermitState] | None:
    """None when Redis does not answer: then nothing is known, which is not the same as nothing."""
    wanted = {
        f"endpoint:{endpoint_id}/{model}": (endpoint_id, model) for endpoint_id, model in places
    }
    states = read_keys(wanted)
    return None if states is None else {wanted[key]: state for key, state in states.items()}


def read_keys(keys: Iterable[str]) -> dict[str, PermitState] | None:
    """By the keys of quotas: endpoint:3/model, or run:17, which has rates only."""
    wanted = list(keys)
    try:
        with open_redis() as client:
            answers = ask(client, wanted)
    except (redis.RedisError, OSError):
        return None
    seconds, micros = answers[0]
    now = seconds * 1000 + micros / 1000
    size = len(Answers._fields)
    return {
        key: read_state(Answers(*answers[1 + size * at : 1 + size * (at + 1)]), now)
        for at, key in enumerate(wanted)
    }


def ask(client: "redis.Redis", keys: list[str]) -> list[Any]:
    with client.pipeline(transaction=False) as pipe:
        pipe.time()
        for key in keys:
            pipe.hgetall(f"permits:held:{key}")
            pipe.hgetall(f"permits:wanted:{key}")
            pipe.zrange(f"permits:expires:{key}", 0, -1, withscores=True)
            pipe.hgetall(f"permits:state:{key}")
            pipe.get(f"permits:due:{key}")
            pipe.get(f"permits:tokens_due:{key}")
        return pipe.execute()


def read_state(answers: "Answers", now: float) -> PermitState:
    fields, expires = answers.state, dict(answers.expires)
    state = {n.decode(): float(value) for n, value in fields.items() if n not in TEXTS}
    is_broken = state.get("rest", 0.0) > 0
    is_told = now - state.get("told", 0.0) < TOLD_MS
    return PermitState(
        held=count_by_run(answers.held, expires, now),
        waiting=count_by_run(answers.wanted, expires, now),
        limit=int(state["limit"]) if "limit" in state else None,
        calls=last_minute(state, "calls", now),
        throttled=last_minute(state, "throttled", now),
        failed=last_minute(state, "failed", now),
        tokens=last_minute(state, "tokens", now),
        told_requests=int(state.get("rpm", 0)) if is_told else 0,
        told_tokens=int(state.get("tpm", 0)) if is_told else 0,
        bears=int(state.get("bears", 0)) if now - state.get("bore", 0.0) < QUEUEING_MS else 0,
        is_broken=is_broken,
        failing_seconds=(now - state.get("opened", now)) / 1000 if is_broken else 0.0,
        broken_seconds=max(0.0, state.get("until", 0.0) - now) / 1000,
        gate_seconds=max(0.0, state.get("gate", 0.0) - now) / 1000,
        ramp=int(state["ramp"]) if "ramp" in state else None,
        requests_ahead=seconds_ahead(answers.due, now),
        tokens_ahead=seconds_ahead(answers.tokens_due, now),
    )


def seconds_ahead(due: bytes | None, now: float) -> float:
    return max(0.0, float(due or 0) - now) / 1000


def count_by_run(
    held: Mapping[bytes, bytes], expires: Mapping[bytes, float], now: float
) -> Counter[int]:
    """The holders are written run|worker; those of dead workers do not count."""
    counts: Counter[int] = Counter()
    for holder, count in held.items():
        run_id = holder.partition(b"|")[0]
        if expires.get(holder, 0.0) > now and run_id.isdigit() and int(count):
            counts[int(run_id)] += int(count)
    return counts


def last_minute(state: Mapping[str, float], name: str, now: float) -> float:
    """This minute's count, and of the last one's the part that is not a minute old."""
    minutes = now // MINUTE_MS - state.get("minute", 0.0)
    if minutes > 1:
        return 0.0
    rest = 1 - now % MINUTE_MS / MINUTE_MS
    if minutes == 1:
        return max(0.0, state.get(name, 0.0)) * rest
    return max(0.0, state.get(name, 0.0) + state.get(f"last_{name}", 0.0) * rest)
