"""Under which conditions something was measured: numbers mean nothing without them."""

import os
import platform
import subprocess
from importlib.metadata import version
from typing import Any

import redis
from django.conf import settings
from django.db import connection
from django.utils.timezone import now

from evalsite.env import BASE_DIR
from runs import __version__
from runs.benchmarking.plan import Plan

PACKAGES = ("django", "dramatiq", "httptools", "uvloop", "redis")
GIT_SECONDS = 10


def conditions_of(plan: Plan) -> dict[str, Any]:
    """As they are before the first run."""
    endpoint = plan.endpoint
    return {
        "at": now().isoformat(timespec="seconds"),
        "provider": f"{endpoint.name}/{endpoint.model}" if endpoint else "simulated",
        "latency_ms": None if endpoint else plan.latency_ms,
        "jitter": None if endpoint else plan.jitter,
        "adaptive": endpoint.adaptive if endpoint else False,
        "trials": plan.trials,
        "concurrency": plan.levels,
        "repeats": plan.repeats,
        "workers": plan.workers,
        "seed": plan.seed,
        "cores": os.cpu_count(),
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "database": database_version(),
        "redis": redis_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "code_version": code_version(),
    }


def database_version() -> str:
    with connection.cursor() as cursor:
        sql = "SELECT sqlite_version()" if connection.vendor == "sqlite" else "SHOW server_version"
        cursor.execute(sql)
        (found,) = cursor.fetchone()
    return f"{connection.display_name} {found}"


def redis_version() -> str:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        about: Any = client.info("server")
    if "valkey_version" in about:
        return f"Valkey {about['valkey_version']}"
    return f"Redis {about.get('redis_version', '?')}"


def code_version() -> str:
    """The version, and the revision where the code is a checkout."""
    revision = git("rev-parse", "--short", "HEAD")
    if not revision:
        return __version__
    changed = ", changed" if git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{__version__} ({revision}{changed})"


def git(*arguments: str) -> str:
    try:
        return subprocess.run(
            ["git", *arguments],
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            check=True,
            timeout=GIT_SECONDS,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""  # no git, or no checkout: as in a container
