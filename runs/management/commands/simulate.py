"""Starts the simulated provider alone: a model provider for demo, tests and benchmarks."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workers.simulator.options import add_options, settings_from
from workers.simulator.server import ListenError, run_until_signal
from workers.simulator.settings import SettingsError

BAD_INPUT = 2


class Command(BaseCommand):
    help = (
        "Starts the simulated provider alone. It is an OpenAI-compatible and Ollama-compatible "
        "HTTP server with a ledger of every request at /control/ledger."
    )
    requires_system_checks = ()  # it needs no database, and a supervisor waits for it

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=int, default=8765, help="port to listen on")
        add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            settings = settings_from(options)
            run_until_signal(settings, options["host"], options["port"], self._announce)
        except (SettingsError, ListenError) as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from None

    def _announce(self, url: str) -> None:
        self.stdout.write(f"Simulated provider listens on {url}")
        self.stdout.flush()
