"""`manage.py save_prompt NAME FILE`: a version of a prompt in the library."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs.management.documents import read_text
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand, add_person
from runs.services.people.local_account import person_for_command
from runs.services.prompts import PromptTakenError, save_prompt
from workers.engine.spec.documents import read_document


class Command(SiteCommand):
    help = (
        "Saves a prompt in the library. An existing name gets a new version, unless the words are "
        "the same."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="name of the prompt")
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help="YAML or JSON with system and user, or messages; tools and tool_choice",
        )
        parser.add_argument("--note", default="", help="what this version changes")
        parser.add_argument(
            "--share",
            action="store_true",
            help="let everybody on the site see it, in all its versions; else it is as it was, and "
            "a new one is private",
        )
        add_person(parser)

    def handle(
        self, *args: Any, name: str, file: Path, note: str, share: bool, **options: Any
    ) -> None:
        owner = person_for_command(options["user"])
        try:
            saved = save_prompt(owner, name, read_document(read_text(file)), note, share=share)
        except PromptTakenError as error:
            raise bad_input(str(error)) from None
        self.stdout.write(f"{saved}{'' if saved.is_new else ' already'}.")
