"""`manage.py import_promptfoo FILE`: a promptfoo file as a configuration and a dataset."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs.formatting import counted
from runs.management.documents import read_text
from runs.management.refusals import problem_text
from runs.management.site_command import SiteCommand, add_person
from runs.reports.plain import one_line
from runs.services.people.local_account import person_for_command
from runs.services.promptfoo import import_promptfoo, look_at_promptfoo


class Command(SiteCommand):
    help = (
        "Stores a promptfoo file as a configuration and a dataset. Prompts, providers, tests and "
        "the asserts that have an equal here; what was not understood is told by its path. Files, "
        "addresses and code that it names are not read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="promptfooconfig.yaml or JSON")
        parser.add_argument(
            "--name", metavar="NAME", default="", help="of both; default: the file's description"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="only tell what was not understood"
        )
        add_person(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        person, text = person_for_command(options["user"]), read_text(options["file"])
        if options["dry_run"]:
            found = look_at_promptfoo(person, text, options["name"])
            notes, rows = found.notes, counted(len(found.rows), "row")
            self.stdout.write(f"{found.name}: {rows}; nothing was stored.")
        else:
            stored = import_promptfoo(person, text, options["name"])
            notes, rows = stored.notes, counted(stored.dataset.rows, "row")
            name, version = stored.configuration.name, stored.configuration.version
            self.stdout.write(f"{name}, version {version}, on {stored.dataset}: {rows}.")
        for note in notes:
            self.stdout.write(f"  {one_line(problem_text(note), 300)}")
