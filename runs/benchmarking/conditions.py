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
from runs.benchmarking.plan import Plan
from runs.code_version import code_version

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
        "code_version": measured_version(),
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


def measured_version() -> str:
    """Also whether what is measured is not what was committed."""
    is_changed = git("status", "--porcelain", "--untracked-files=no")
    return code_version("changed" if is_changed else "")


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
