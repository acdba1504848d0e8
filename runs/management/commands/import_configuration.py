"""`manage.py import_configuration FILE`: stores a YAML or JSON file as a configuration."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs.management.documents import read_text
from runs.management.site_command import SiteCommand, add_person
from runs.services.configurations import import_configuration
from runs.services.people.local_account import person_for_command


class Command(SiteCommand):
    help = "Stores a YAML or JSON file as a configuration. An existing name gets a new version."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="YAML or JSON in UTF-8")
        parser.add_argument(
            "--name", metavar="NAME", help="name to store it under; default: the one in the file"
        )
        add_person(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        owner = person_for_command(options["user"])
        stored = import_configuration(owner, read_text(options["file"]), options["name"])
        self.stdout.write(f"{stored.name}, version {stored.version}.")
