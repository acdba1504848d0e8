"""`manage.py import_configuration FILE`: stores a YAML or JSON file as a configuration."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.management.documents import read_text
from runs.management.refusals import refusing
from runs.selectors.people import find_person
from runs.services.configurations import import_configuration


class Command(BaseCommand):
    help = "Stores a configuration from a file; one of the same name gets the next version."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="YAML or JSON in UTF-8")
        parser.add_argument("--name", metavar="NAME", help="instead of the one in the file")
        parser.add_argument("--user", metavar="NAME", help="its owner; the administrator")
        # Read by manage.py, for every command; here for --help.
        parser.add_argument("--data", help="data folder of the site")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusing():
            owner = find_person(options["user"])
            stored = import_configuration(owner, read_text(options["file"]), options["name"])
        self.stdout.write(f"{stored.name}, version {stored.version}.")
