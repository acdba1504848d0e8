"""Turns DATABASE_URL into Django's DATABASES entry; SQLite in the data folder without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from evalsite.env import EnvironmentProblem

BUSY_SECONDS = 20  # how long a writer waits for another one before it fails

# WAL: readers never wait for the writer. NORMAL: safe with WAL, one fsync per checkpoint.
SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;"
    f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000};"
    "PRAGMA cache_size = -32000;"  # KiB per connection
    "PRAGMA mmap_size = 1073741824;"  # bytes; beyond it, reading a run whole takes twice as long
    "PRAGMA temp_store = MEMORY;"
)


def database_settings(url: str | None, data: Path) -> dict[str, Any]:
    """The DATABASES["default"] for a URL."""
    if url is None:
        return sqlite_settings(data / "evalsite.sqlite3")
    parts = urlsplit(url)
    if parts.scheme in {"postgres", "postgresql"} and parts.path.strip("/"):
        return postgres_settings(url)
    if parts.scheme == "sqlite" and parts.path.strip("/"):
        return sqlite_settings(Path("/" + unquote(parts.path).lstrip("/")))
    raise EnvironmentProblem(
        f"DATABASE_URL starts with {parts.scheme + '://'!r} and its database is"
        f" {parts.path.strip('/')!r}. Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE or"
        " sqlite:///absolute/path.sqlite3, or unset it for SQLite in the data folder."
    )


def sqlite_settings(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        # Take the write lock at BEGIN: a transaction that reads first and writes later would
        # otherwise fail at once, without waiting, when another one wrote in between.
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": BUSY_SECONDS,
            "init_command": SQLITE_PRAGMAS,
        },
        # On disk: worker threads and other processes use the tests' database too.
        "TEST": {"NAME": path.with_name("test.sqlite3")},
    }


def postgres_settings(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or unquote(parts.hostname or "")  # ?host= is a socket folder
    # A pool instead of CONN_MAX_AGE: under ASGI every request may come on another thread.
    options["pool"] = {"min_size": 1, "max_size": 20, "timeout": BUSY_SECONDS}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
        "CONN_HEALTH_CHECKS": True,
    }
