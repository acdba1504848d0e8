"""`manage.py create_token NAME`: a token for scripts, alone on stdout."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from runs.models import Scope
from runs.services.tokens import create_token, owner_for_command
from workers.engine.errors import ConfigurationError

BAD_INPUT = 2  # exit code


class Command(BaseCommand):
    help = "Print a new API token. It is shown once: only its hash is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        every = ",".join(Scope.values)
        parser.add_argument("name", help="what the token is for, as in nightly-ci")
        parser.add_argument("--scope", default=every, help=f"of {every}; default: all")
        parser.add_argument("--user", help="whom it acts for; default: the first administrator")
        parser.add_argument("--days", type=int, help="until it expires; default: never")

    def handle(
        self, *, name: str, scope: str, user: str | None, days: int | None, **options: Any
    ) -> None:
        scopes = [part.strip() for part in scope.split(",") if part.strip()]
        try:
            made = create_token(owner_for_command(user), name, scopes, days)
        except ConfigurationError as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from None
        except DatabaseError as error:
            told = f"No token was made: {error}. Start the site once, or run manage.py migrate."
            raise CommandError(told) from None
        self.stdout.write(made.text)
