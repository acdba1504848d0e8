"""Starts the simulated provider alone: a model provider for demo, tests and benchmarks."""

import secrets
from functools import partial
from typing import Any

from django.conf import settings as site_settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from workers.simulator.options import add_options, settings_from
from workers.simulator.server import ListenError, run_until_signal
from workers.simulator.settings import SettingsError

BAD_INPUT = 2


class Command(BaseCommand):
    help = (
        "Starts the simulated provider alone. It is an OpenAI-compatible and Ollama-compatible "
        "HTTP server with a ledger of every request at /control/ledger, which asks for the secret "
        "of EVALSITE_SIMULATOR_SECRET, or else for one that is printed."
    )
    requires_system_checks = ()  # it needs no database, and a supervisor waits for it

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=int, default=8765, help="port to listen on")
        add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            settings = settings_from(options)
            secret = site_settings.SIMULATOR_SECRET or secrets.token_urlsafe()
            announce = partial(self._announce, secret)
            run_until_signal(settings, options["host"], options["port"], secret, announce)
        except (SettingsError, ListenError) as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from None

    def _announce(self, secret: str, url: str) -> None:
        self.stdout.write(f"Simulated provider listens on {url}")
        if secret != site_settings.SIMULATOR_SECRET:
            self.stdout.write(f"Its control API asks for: Authorization: Bearer {secret}")
        self.stdout.flush()
