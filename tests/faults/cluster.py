"""A small site under test: database, Redis, simulated provider, workers, web, all real processes
in a data folder of their own."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evalsite.embedded import redis_server
from evalsite.embedded.parts import MANAGE, WEBSOCKET_BYTES, answers_ready
from evalsite.embedded.ports import claim_port
from evalsite.env import BASE_DIR
from tests.faults.clocks import Unplayable
from tests.faults.person import Person
from tests.faults.processes import PartFailed, Process
from tests.faults.truth import Truth
from tests.faults.visitor import Visitor
from tests.harness.postgres import PostgresServer
from workers.simulator.testing import SimulatorClient

POLL_SECONDS = 0.02


class TooLate(Exception):
    """Something that was promised did not happen in time."""


def wait_until(what: Callable[[], bool], seconds: float, name: str) -> float:
    """Wait for other processes' doing; how long it took."""
    began = time.monotonic()
    while not what():
        if time.monotonic() - began > seconds:
            raise TooLate(f"{name}: not within {seconds:.0f} s.")
        time.sleep(POLL_SECONDS)
    return time.monotonic() - began


@dataclass(frozen=True)
class Shape:
    """What a row needs of a cluster. Rows that need the same share one."""

    database: str = "sqlite"
    workers: int = 2
    threads: int = 8
    lease_seconds: int | None = None  # None: what the site does by itself
    settings: str = "evalsite.settings"
    storage_mb: int | None = None  # a disk of its own, of this size, for the data folder


def new_postgres() -> PostgresServer:
    server = PostgresServer(keeps_commits=True)
    server.start()
    return server


def mount_disk(folder: Path, megabytes: int) -> None:
    """A small disk in memory, which can be full without harm to anybody else."""
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs"]
    done = subprocess.run(["mount", *options, folder], capture_output=True, text=True)
    if done.returncode:
        raise Unplayable(f"A disk of its own needs the right to mount: {done.stderr.strip()}")


class Cluster:
    """`beside` another site it calls the same provider; with a folder it goes on from its data."""

    def __init__(
        self,
        shape: Shape,
        folder: Path | None = None,
        *,
        beside: Cluster | None = None,
        postgres: PostgresServer | None = None,
    ) -> None:
        self.shape = shape
        self._beside = beside
        self.folder = folder or Path(tempfile.mkdtemp(prefix="evalsite-faults-"))
        if shape.storage_mb:
            mount_disk(self.folder, shape.storage_mb)
        new_key = f"sk-faults-{secrets.token_hex(16)}"
        self.key: str = beside.key if beside else new_key  # of the endpoints; must be seen nowhere
        self.hashes: dict[str, str] = {}  # of undisturbed runs, by what was run
        self.postgres = postgres
        self._named = 0
        self.env = self._environment()
        if shape.database == "postgres":
            self.postgres = postgres or new_postgres()
            self.env["DATABASE_URL"] = self.postgres.url_for()
        self.truth = Truth(self.env.get("DATABASE_URL") or self.folder / "evalsite.sqlite3")
        self._start_services()
        self.workers = [self.add_worker() for _ in range(shape.workers)]
        self.web = self._start_web()
        self.person = Person(self.env)
        for worker in self.workers:
            worker.wait_ready()
        wait_until(lambda: answers_ready(self.site), 60, "the web part answers")

    @cached_property
    def visitor(self) -> Visitor:
        return Visitor(self.site, self.person.ask("session"), self.person.ask("make_token"))

    def _environment(self) -> dict[str, str]:
        foreign = ("EVALSITE_", "REDIS_URL", "DATABASE_URL", "DJANGO_")
        env = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
        env |= {
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(BASE_DIR),
            "DJANGO_SETTINGS_MODULE": self.shape.settings,
            "EVALSITE_DATA": str(self.folder),
            "EVALSITE_WORKERS": str(self.shape.workers),
            "EVALSITE_SIMULATOR_SECRET": "one for all clusters, which may share a provider",
        }
        if self.shape.lease_seconds:
            env["EVALSITE_LEASE_SECONDS"] = str(self.shape.lease_seconds)
        return env

    def _start_services(self) -> None:
        embedded = redis_server.prepare(self.folder)
        self.env["REDIS_URL"] = embedded.url
        self.redis = self._process("redis", embedded.argv)
        migration = self._process("migration", [*MANAGE, "migrate", "-v", "0"])
        self.provider: Process = self._beside.provider if self._beside else self._start_provider()
        address = self.provider.wait_ready()
        self.simulator = SimulatorClient(address, self.env["EVALSITE_SIMULATOR_SECRET"])
        self.env["EVALSITE_SIMULATOR_URL"] = address
        self.env["EVALSITE_ALLOWED_PRIVATE_ENDPOINTS"] = address.removeprefix("http://")
        redis_server.wait_until_answering(embedded.url)
        migration.wait(60)

    def _start_provider(self) -> Process:
        argv = [*MANAGE, "simulate", "--port", "0", "--latency-ms", "0", "--jitter", "0.3"]
        return self._process("simulator", argv, r"listens on (http://\S+)")

    def manage(self, *arguments: str) -> None:
        """One command of the site, to its end."""
        command = self._process(arguments[0], [*MANAGE, *arguments])
        command.wait(60)
        if command.popen.returncode:
            raise PartFailed(command.explain())

    def _process(self, name: str, argv: list[str], ready: str = "", **more: str) -> Process:
        return Process(name, argv, {**self.env, **more}, self.folder, ready)

    def add_worker(self, **env: str) -> Process:
        """One more worker, not waited for."""
        self._named += 1
        argv = [*MANAGE, "work", "--skip-checks", f"--threads={self.shape.threads}"]
        return self._process(f"worker {self._named}", argv, "Worker ready", **env)

    def _start_web(self) -> Process:
        port = claim_port("127.0.0.1", 0, "--port")
        self.site = f"http://127.0.0.1:{port}"
        size = str(WEBSOCKET_BYTES)
        argv = [sys.executable, "-m", "evalsite.web", "-b", "127.0.0.1", "-p", str(port), "-v", "0"]
        argv += ["--websocket-max-message-size", size, "--websocket-max-frame-size", size]
        self.env["EVALSITE_ORIGINS"] = self.site
        return self._process("web", [*argv, "evalsite.asgi:application"])

    def make_endpoint(self, **fields: Any) -> str:
        """An endpoint of its own for every row: its breaker and its limits are nobody else's."""
        self._named += 1
        name = f"provider-{self._named}"
        base_url = f"{self.simulator.url}/v1"
        fields = {"kind": "openai", "max_concurrent": 20, "adaptive": False, **fields}
        self.person.ask("make_endpoint", name=name, key=self.key, base_url=base_url, **fields)
        return name

    def change_rows(self, statement: str) -> int:
        """Past the site, as a disk or a careless hand would; how many it changed."""
        path = self.folder / "evalsite.sqlite3"
        with closing(sqlite3.connect(path, timeout=20)) as file, file:
            return file.execute(statement).rowcount

    def quiet(self) -> None:
        """Between rows: everything is up, nobody is frozen, no fault is left over."""
        for worker in self.workers:
            if not worker.is_alive:
                worker.start_again()
                worker.wait_ready()
        if not self.web.is_alive:
            self.web.start_again()
            wait_until(lambda: answers_ready(self.site), 60, "the web part answers")
        wait_until(lambda: self.simulator.ledger()["in_flight"] == 0, 30, "the provider is idle")
        self.simulator.reset()
        plain: dict[str, Any] = {"latency_ms": 0, "jitter": 0.3}
        plain |= dict.fromkeys(("rpm", "tpm", "max_in_flight", "hold_after"))
        rates = [name for name in self.simulator.change() if name.endswith("_rate")]
        self.simulator.change(**plain, **dict.fromkeys(rates, 0.0))
        self.person.ask("forget_answers")

    def close(self) -> None:
        self.person.close()
        provider = [] if self._beside else [self.provider]
        for part in [*self.workers, self.web, *provider, self.redis]:
            part.kill()
        if self.postgres:
            self.postgres.stop()
        if self.shape.storage_mb:
            subprocess.run(["umount", "--lazy", self.folder], check=True)
        shutil.rmtree(self.folder, ignore_errors=True)
