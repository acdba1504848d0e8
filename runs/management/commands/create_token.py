"""`manage.py create_token NAME`: a token for scripts, alone on stdout."""

from argparse import ArgumentParser
from typing import Any

from runs.management.site_command import SiteCommand
from runs.models import Scope
from runs.services.people.tokens import create_token, owner_for_command


class Command(SiteCommand):
    help = "Prints a new API token. It is shown only this once: the site keeps a hash of it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        every = ",".join(Scope.values)
        parser.add_argument("name", help="what the token is for, as in nightly-ci")
        parser.add_argument("--scope", default=every, help=f"one or more of {every}; default: all")
        parser.add_argument("--user", help="account it acts for; default: the first administrator")
        parser.add_argument("--days", type=int, help="days until it expires; default: never")

    def handle(
        self, *, name: str, scope: str, user: str | None, days: int | None, **options: Any
    ) -> None:
        scopes = [part.strip() for part in scope.split(",") if part.strip()]
        made = create_token(owner_for_command(user), name, scopes, days)
        self.stdout.write(made.text)
