"""`manage.py export_configuration NAME`: a stored configuration as YAML."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs.management.documents import read_stored
from runs.management.site_command import SiteCommand
from workers.engine.spec.documents import write_document


class Command(SiteCommand):
    help = "Writes a stored configuration as YAML. `import_configuration` reads it again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="file to write; default: standard output"
        )

    def handle(self, *args: Any, name: str, out: Path | None, **options: Any) -> None:
        text = write_document(read_stored(name))
        if out:
            out.write_text(text, encoding="utf-8")
        if not out:
            self.stdout.write(text, ending="")
