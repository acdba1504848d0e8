"""The base of the commands that work on a site's data: they bring its database up to date, act for
a person, and end what they refuse in one message."""

from argparse import ArgumentParser
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandParser

from runs.management.data_folder import bring_up_to_date
from runs.management.refusals import refusing
from runs.models import AuditDoor
from runs.services.audit import Origin, coming_from


def add_person(parser: ArgumentParser) -> None:
    """What `person_for_command` takes."""
    parser.add_argument(
        "--user",
        metavar="NAME",
        help="account to act for; default: the only administrator, or local while there is none",
    )


class SiteCommand(BaseCommand):
    # Of plug-ins only: the others load every page and the API, and `make check` runs them all.
    requires_system_checks = (Tags.compatibility,)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        # Read by manage.py before the settings are; here for --help.
        parser.add_argument("--data", metavar="DIR", help="data folder of the site")
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        with refusing(), coming_from(Origin(AuditDoor.COMMAND)):
            bring_up_to_date(self.stderr.write)
            return super().execute(*args, **options)
