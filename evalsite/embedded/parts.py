"""The parts of the embedded default, in the order in which they start."""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import sys
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from evalsite.embedded.redis_server import EmbeddedRedis, is_answering
from evalsite.embedded.supervisor import Part
from evalsite.env import BASE_DIR, IS_INSTALLED, RESOURCES, Environment

MANAGE = (sys.executable, str(RESOURCES / "manage.py"))
WEBSOCKET_BYTES = 64 * 1024  # browsers only send us a few words; more is an attack
WEBSOCKET_SECONDS = 30  # a page that is let in late need not come again; Daphne's 5 cut off many
# Calls in flight are paid for: a worker takes up to 25 s to have them answered and stored.
WORKER_GRACE_SECONDS = 30.0
ANSWER_WITHIN_SECONDS = 2.0
DEMO_LATENCY_MS = 300
DEMO_JITTER = 0.3
# The lines by which two of them say that they are ready; the others are asked.
SIMULATOR_READY = r"listens on (http://\S+)"
WORKER_READY = "Worker ready"


@dataclass(frozen=True)
class Plan:
    """What `serve` was asked for, after ports were found free."""

    host: str
    port: int
    simulator_port: int
    workers: int
    origins: tuple[str, ...]
    redis: EmbeddedRedis | None  # None: REDIS_URL names one that others look after

    @property
    def url(self) -> str:
        """Where a person on this machine finds the site."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        return f"http://{host}:{self.port}"

    @property
    def simulator_url(self) -> str:
        return f"http://127.0.0.1:{self.simulator_port}"


def list_parts(plan: Plan, environment: Environment) -> list[Part]:
    """Redis first, for everybody uses it; the workers last, for they use everybody."""
    env = part_environment(plan, environment)
    parts = [simulator_part(plan, env), web_part(plan, env)]
    if plan.redis:
        is_ready = partial(is_answering, plan.redis.url)
        parts.append(Part("redis", 0, plan.redis.argv, dict(os.environ), is_ready))
    workers = [
        Part(f"worker {number}", 2, worker_argv(), env, grace_seconds=WORKER_GRACE_SECONDS)
        for number in range(1, plan.workers + 1)
    ]
    return [*parts, *workers]


def simulator_part(plan: Plan, env: dict[str, str]) -> Part:
    speed = ["--latency-ms", str(DEMO_LATENCY_MS), "--jitter", str(DEMO_JITTER)]
    argv = simulator_argv(plan.simulator_port, *speed)
    return Part("simulator", 1, argv, env, is_ready=partial(accepts_calls, plan.simulator_port))


def web_part(plan: Plan, env: dict[str, str]) -> Part:
    argv = web_argv(plan.host, plan.port)
    return Part("web", 1, argv, env, is_ready=partial(answers_ready, plan.url))


def simulator_argv(port: int, *options: str) -> list[str]:
    return [*MANAGE, "simulate", "--port", str(port), *options]


def worker_argv(*options: str) -> list[str]:
    return [*MANAGE, "work", *options]


def web_argv(host: str, port: int) -> list[str]:
    limits = ["--websocket-max-message-size", str(WEBSOCKET_BYTES)]
    limits += ["--websocket-max-frame-size", str(WEBSOCKET_BYTES)]
    limits += ["--websocket_connect_timeout", str(WEBSOCKET_SECONDS)]
    argv = [sys.executable, "-m", "evalsite.web", "-b", host, "-p", str(port), *limits]
    return [*argv, "--no-server-name", "-v", "0", "evalsite.asgi:application"]


def part_environment(plan: Plan, environment: Environment) -> dict[str, str]:
    """What the processes are told: the same names a person would set on several machines."""
    of_checkout = {} if IS_INSTALLED else {"PYTHONPATH": str(BASE_DIR)}
    return dict(
        os.environ,
        **of_checkout,
        PYTHONUNBUFFERED="1",
        PYTHONSAFEPATH="1",  # a folder called workers where it is started is none of ours
        DJANGO_SETTINGS_MODULE="evalsite.settings",
        EVALSITE_DATA=str(environment.data),
        EVALSITE_ORIGINS=",".join(plan.origins),
        EVALSITE_WORKERS=str(plan.workers),
        EVALSITE_SIMULATOR_URL=plan.simulator_url,
        EVALSITE_SIMULATOR_SECRET=environment.simulator_secret or secrets.token_urlsafe(),
        REDIS_URL=plan.redis.url if plan.redis else environment.redis_url,
    )


def accepts_calls(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=ANSWER_WITHIN_SECONDS).close()
    except OSError:
        return False
    return True


def answers_ready(url: str) -> bool:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port, timeout=ANSWER_WITHIN_SECONDS
    )
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
