"""The one way in which tests and scripts start a site, or some of its parts.

One site for a whole package of stories, served as a person does it, stopped with its last story:

    @pytest.fixture(scope="package")
    def site(tmp_path_factory):
        with ServedSite(tmp_path_factory.mktemp("site")) as site:
            yield site              # site.url, .setup_link, .simulator, .database, .manage()

    site.simulator.change(hold_after=20)    # SimulatorClient: change, play, ledger, requests
    site.come_to_rest()                     # between stories

A site that a test may break, with every part in its hands and nobody who starts it again:

    with SiteInParts(EVALSITE_LEASE_SECONDS="6") as site:
        site.workers[0].kill()              # also site.redis, .web, .provider, .postgres
        site.person.ask("launch", document=...)  # through its services: tests/harness/wishes.py
        site.visitor.read_page(run)         # through its pages, its API and its socket
        site.database.state(run)            # what is stored, past the site's own queries
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

from evalsite.embedded.loose_parts import LoggedProcess, LooseParts
from evalsite.embedded.parts import MANAGE, SIMULATOR_READY
from tests.harness.database import Database
from tests.harness.patience import PATIENCE_SECONDS, wait_until
from tests.harness.postgres import PostgresServer
from tests.harness.processes import children_of, end_with_the_tests, wait_until_gone
from tests.harness.visitor import Visitor
from workers.simulator.testing import SimulatorClient

READY = r"evalsite is ready: (http://127\.0\.0\.1:\d+)/"
SETUP = r"(http://127\.0\.0\.1:\d+/setup/\S+)"
FOREIGN = ("EVALSITE_", "REDIS_URL", "DATABASE_URL", "DJANGO_")  # of the tests, or of a person
SIMULATOR_SECRET = "known to the tests, which ask its ledger"
DATABASE_FILE = "evalsite.sqlite3"
LEASE_SECONDS = "48"  # calls are counted: a worker that stands still for a while keeps its work
WORKERS, THREADS = 2, 8  # of a site in parts, and of each of its workers
UNDER_WAY = "SELECT id FROM runs_run WHERE ended IS NULL AND state <> 'paused'"


def environment_of_a_site(**variables: str) -> dict[str, str]:
    """Of this machine, and of no other site."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(FOREIGN)}
    known = {"EVALSITE_SIMULATOR_SECRET": SIMULATOR_SECRET}
    return {**kept, "DJANGO_SETTINGS_MODULE": "evalsite.settings", **known, **variables}


class Person:
    """Somebody who uses a site: does through its services what tests/harness/wishes.py can. A
    process of its own, as Django knows one database, and every site under test has another."""

    def __init__(self, env: Mapping[str, str]) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._process = ProcessPoolExecutor(1, spawning, live_in, (dict(env),))
        self._process.submit(os.getpid)  # so that it starts at once

    def ask(self, what: str, **values: Any) -> Any:
        """Raises what the wish raises."""
        return self._process.submit(grant, what, values).result()

    def close(self) -> None:
        self._process.shutdown()


def live_in(env: Mapping[str, str]) -> None:
    """Before the process loads anything of the site."""
    threading.Thread(target=end_with_the_tests, daemon=True).start()
    os.environ.clear()
    os.environ.update(env)
    import django

    django.setup()


def grant(what: str, values: Mapping[str, Any]) -> Any:
    from django.db import connections

    from tests.harness import wishes

    try:
        return getattr(wishes, what)(**values)
    finally:
        connections.close_all()  # the database may be another process by the next wish


class Site:
    """What every site has, however it was started."""

    url: str
    simulator: SimulatorClient

    def __init__(self, folder: Path | None, **variables: str) -> None:
        self._is_temporary = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="evalsite-site-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = environment_of_a_site(**variables)
        self.parts = LooseParts(self.folder, environment, ready_seconds=PATIENCE_SECONDS)
        self.env = self.parts.env
        self.database = Database(self.env.get("DATABASE_URL") or self.folder / DATABASE_FILE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        if "person" in vars(self):
            self.person.close()

    def manage(self, *arguments: str) -> str:
        """One command of the site, to its end; what it printed."""
        argv = [*MANAGE, *arguments]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}: {done.stderr}"
        return done.stdout

    @cached_property
    def person(self) -> Person:
        return Person(self.env)

    @cached_property
    def visitor(self) -> Visitor:
        return Visitor(self.url, self.person.ask("session"), self.person.ask("make_token"))


class ServedSite(Site):
    """`manage.py serve` with a Redis of its own. Ready when it is there."""

    def __init__(
        self, folder: Path | None = None, *, options: Sequence[str] = (), **variables: str
    ) -> None:
        super().__init__(folder, **{"EVALSITE_LEASE_SECONDS": LEASE_SECONDS, **variables})
        ports = ["--port", "0", "--simulator-port", "0"]
        self.serve = self.parts.start("serve", [*MANAGE, "serve", *ports, *options])
        try:
            self.url = self.serve.wait_for(READY)
            address = self.serve.wait_for(SIMULATOR_READY)
        except BaseException:
            self.serve.kill()
            raise
        self.simulator = SimulatorClient(address, self.env["EVALSITE_SIMULATOR_SECRET"])

    @property
    def setup_link(self) -> str:
        """Makes the first account, once."""
        return self.serve.wait_for(SETUP)

    def children(self) -> dict[int, str]:
        """What each of its processes does (redis, simulator, web, worker), by pid."""
        return children_of(self.serve.pid)

    def kill_web(self) -> int:
        """Its pid; `serve` starts another one."""
        pid = next(pid for pid, task in self.children().items() if task == "web")
        os.kill(pid, signal.SIGKILL)
        return pid

    def hold_supervisor(self) -> None:
        """Nothing is started again until it may go on."""
        self.serve.signal(signal.SIGSTOP)

    def let_supervisor_go_on(self) -> None:
        self.serve.signal(signal.SIGCONT)

    def come_to_rest(self) -> None:
        """What one story leaves going must not end, with an alert, on the page of the next."""
        self.simulator.play()
        self.simulator.change(hold_after=None, latency_ms=1)
        wait_until(lambda: not self.database.rows(UNDER_WAY))

    def stop(self) -> int:
        """As Ctrl-C does; its exit code."""
        self.serve.signal(signal.SIGINT)
        return self.serve.popen.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """Stop it; fails if a process is left."""
        super().close()
        try:
            if self.serve.is_alive:
                self._stop_everything()
        finally:
            self.serve.kill()
            if self._is_temporary:
                shutil.rmtree(self.folder, ignore_errors=True)

    def _stop_everything(self) -> None:
        self.let_supervisor_go_on()  # a test that failed may have left it held
        pids = self.children()
        code = self.stop()
        wait_until_gone(*pids)
        assert code == 0, f"serve ended with {code}:\n{self.serve.text}"


class SiteInParts(Site):
    """Redis, database, simulated provider, workers and web, all real processes in one folder.

    `beside` another one it calls the same provider; with a folder it goes on from its data, with
    `postgres` from what is in there, and has it stopped with itself."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        beside: SiteInParts | None = None,
        postgres: PostgresServer | None = None,
        **variables: str,
    ) -> None:
        self.postgres = postgres
        if postgres:
            variables["DATABASE_URL"] = postgres.url_for()
        super().__init__(folder, EVALSITE_WORKERS=str(WORKERS), **variables)
        # Of the endpoints' providers.
        self.key: str = beside.key if beside else f"sk-tests-{secrets.token_hex(16)}"
        self._named = 0
        try:
            self._start(beside)
        except BaseException:
            self.close()
            raise

    def _start(self, beside: SiteInParts | None) -> None:
        parts = self.parts
        self.redis = parts.start_redis()
        migration = parts.start_migration()
        speed = ("--latency-ms", "0", "--jitter", "0.3")
        self.provider: LoggedProcess = beside.provider if beside else parts.start_simulator(*speed)
        address = self.provider.wait_for(SIMULATOR_READY)
        self.simulator = SimulatorClient(address, SIMULATOR_SECRET)
        self.env["EVALSITE_SIMULATOR_URL"] = address
        self.env["EVALSITE_ALLOWED_PRIVATE_ENDPOINTS"] = urlsplit(address).netloc
        parts.wait_for_redis()
        migration.wait_for_success()
        self.workers = [self.add_worker() for _ in range(WORKERS)]
        self.web = parts.start_web()
        self.person  # noqa: B018  # starts while the others do
        for worker in self.workers:
            parts.wait_for_worker(worker)
        self.url = parts.wait_for_web(self.web)

    def add_worker(self, **env: str) -> LoggedProcess:
        """One more worker, not waited for."""
        self._named += 1
        return self.parts.start_worker(self._named, f"--threads={THREADS}", **env)

    def start_again(self, *parts: LoggedProcess) -> None:
        """Ready when it returns."""
        for part in parts:
            part.start_again()
        for part in parts:
            if part is self.redis:
                self.parts.wait_for_redis()
            elif part is self.web:
                self.parts.wait_for_web(part)
            else:
                self.parts.wait_for_worker(part)

    def make_endpoint(self, **fields: Any) -> str:
        """Every test has one of its own: its breaker and its limits are nobody else's."""
        self._named += 1
        name = f"provider-{self._named}"
        base_url = f"{self.simulator.url}/v1"
        fields = {"kind": "openai", "max_concurrent": 20, "adaptive": False, **fields}
        self.person.ask("make_endpoint", name=name, key=self.key, base_url=base_url, **fields)
        return name

    def close(self) -> None:
        """At once: nobody needs what is in there. Those that a test froze cannot end by SIGTERM."""
        super().close()
        for process in reversed(self.parts.started):
            process.kill()
        if self.postgres:
            self.postgres.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def environment_of_the_tests() -> dict[str, str]:
    """What a process is told that shall work on the test database."""
    from django.conf import settings
    from django.db import connection

    name = str(connection.settings_dict["NAME"])
    url = f"sqlite:///{name.lstrip('/')}"
    if connection.vendor == "postgresql":
        url = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))
    return {
        **os.environ,
        "DATABASE_URL": url,
        "EVALSITE_DATA": str(settings.EVALSITE_DATA),
        "EVALSITE_SIMULATOR_URL": settings.SIMULATOR_URL,
    }
