"""`manage.py serve`: the whole site on this machine, started, supervised and stopped together."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connections

from evalsite.embedded import redis_server
from evalsite.embedded.data_lock import DataFolderTaken, only_one_in
from evalsite.embedded.parts import Plan, list_parts
from evalsite.embedded.ports import PortTaken, claim_port, claim_usual_port
from evalsite.embedded.supervisor import PartFailed, Supervisor
from evalsite.env import SIMULATOR_PORT, redis_url_file, simulator_url_file, site_url_file

BAD_INPUT = 2  # exit code


class Command(BaseCommand):
    help = (
        "Starts the whole site: web, workers, Redis and the simulated provider. One Ctrl-C "
        "stops everything."
    )
    requires_system_checks = ()  # `make check` runs them; here they would delay every start

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
        parser.add_argument(
            "--workers", type=int, default=settings.WORKERS, help="worker processes"
        )
        parser.add_argument(
            "--simulator-port",
            type=int,
            help=f"default {SIMULATOR_PORT}, or a free one while that is taken",
        )
        # Read by manage.py, for every command; here for --help.
        parser.add_argument("--data", help="folder of database, keys and Redis files")

    def handle(self, *args: Any, **options: Any) -> None:
        with ExitStack() as held:
            try:
                held.enter_context(only_one_in(settings.EVALSITE_DATA))
                plan = self._plan(options)
            except (DataFolderTaken, PortTaken, redis_server.RedisServerError) as problem:
                raise CommandError(str(problem), returncode=BAD_INPUT) from problem
            held.enter_context(leaving_addresses(plan))
            self._migrate()
            self._run(plan, setup_path=first_sign_in_path())

    def _plan(self, options: dict[str, Any]) -> Plan:
        if options["workers"] < 1:
            raise CommandError("--workers must be 1 or more.", returncode=BAD_INPUT)
        host = options["host"]
        port = claim_port(host, options["port"], "--port")
        simulator_port = find_simulator_port(options["simulator_port"])
        has_redis = bool(os.environ.get("REDIS_URL") or os.environ.get("REDIS_URL_FILE"))
        return Plan(
            host=host,
            port=port,
            simulator_port=simulator_port,
            workers=options["workers"],
            origins=served_origins(host, port),
            redis=None if has_redis else redis_server.prepare(settings.EVALSITE_DATA),
        )

    def _migrate(self) -> None:
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except OperationalError as problem:
            name = "DATABASE_URL" if settings.ENVIRONMENT.database_url else "in the data folder"
            raise CommandError(f"The database ({name}) cannot be used: {problem}") from problem

    def _run(self, plan: Plan, setup_path: str | None) -> None:
        parts = list_parts(plan, settings.ENVIRONMENT)

        async def supervise() -> None:
            await Supervisor(parts).run(when_ready=lambda: self._greet(plan.url, setup_path))

        try:
            asyncio.run(supervise())
        except PartFailed as problem:
            raise CommandError(str(problem)) from problem

    def _greet(self, url: str, setup_path: str | None) -> None:
        lines = [f"evalsite is ready: {url}/", "Ctrl-C stops everything."]
        if setup_path:
            lines.insert(1, f"Make the admin account here (works once): {url}{setup_path}")
        self.stdout.write("\n" + "\n".join(f"  {line}" for line in lines) + "\n")
        self.stdout.flush()


@contextmanager
def leaving_addresses(plan: Plan) -> Iterator[None]:
    """For the other commands of this data folder, as long as the site is up."""
    data = settings.EVALSITE_DATA
    try:
        simulator_url_file(data).write_text(plan.simulator_url)
        site_url_file(data).write_text(plan.url)
        yield
    finally:
        for file in (redis_url_file, simulator_url_file, site_url_file):
            file(data).unlink(missing_ok=True)


def find_simulator_port(asked: int | None) -> int:
    """Nobody need choose it: the second site of a machine takes another one by itself."""
    if asked is None:
        return claim_usual_port("127.0.0.1", SIMULATOR_PORT)
    return claim_port("127.0.0.1", asked, "--simulator-port")


def first_sign_in_path() -> str | None:
    """The address that makes the first account, if there is none yet. No default password."""
    from runs.services.people.accounts import make_setup_link, needs_setup

    path = make_setup_link() if needs_setup() else None
    connections.close_all()  # this process only supervises from here on
    return path


def served_origins(host: str, port: int) -> tuple[str, ...]:
    """Who may open websockets and post forms: pages of this address, or those the person named."""
    if os.environ.get("EVALSITE_ORIGINS"):
        return tuple(settings.ORIGINS)
    if is_loopback(host):
        names = dict.fromkeys((f"[{host}]" if ":" in host else host, "127.0.0.1", "localhost"))
        return tuple(f"http://{name}:{port}" for name in names)
    raise CommandError(
        f"--host {host} is reachable from other machines, and their browsers use a name that only"
        f" you know. Say it: EVALSITE_ORIGINS=http://eval.example.com:{port}",
        returncode=BAD_INPUT,
    )


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"
