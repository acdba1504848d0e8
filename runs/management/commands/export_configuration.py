"""`manage.py export_configuration NAME`: a stored configuration as YAML."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.management.documents import read_stored
from runs.management.refusals import refusing
from workers.engine.documents import write_document


class Command(BaseCommand):
    help = "Writes a stored configuration as YAML. `import_configuration` reads back the same."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--out", type=Path, metavar="FILE", help="instead of standard output")
        # Read by manage.py, for every command; here for --help.
        parser.add_argument("--data", help="data folder of the site")

    def handle(self, *args: Any, name: str, out: Path | None, **options: Any) -> None:
        with refusing():
            text = write_document(read_stored(name))
            if out:
                out.write_text(text, encoding="utf-8")
        if not out:
            self.stdout.write(text, ending="")
