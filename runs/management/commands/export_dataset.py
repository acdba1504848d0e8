"""`manage.py export_dataset NAME --out FILE`: the rows of a dataset as CSV or JSONL."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from runs.access import find_dataset_for
from runs.formatting import counted
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand, add_person
from runs.models import AuditAction
from runs.reports.dataset_files import LINES, rows_of, write_rows
from runs.reports.export import Format
from runs.services.audit import Subject, record
from runs.services.people.local_account import person_for_command

FORMATS: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl"}


class Command(SiteCommand):
    help = (
        "Writes the rows of a dataset as CSV or JSONL. JSONL has them exactly as they are; in CSV "
        "a text that a spreadsheet would take for a formula gets an apostrophe before it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="a dataset, or one version as NAME@3")
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="a .csv or .jsonl file to write; default: JSONL on standard output",
        )
        add_person(parser)

    def handle(self, *args: Any, name: str, out: Path | None, **options: Any) -> None:
        person = person_for_command(options["user"])
        dataset = find_dataset_for(person, name)
        form = FORMATS.get(out.suffix.lower()) if out else "jsonl"
        if form is None:
            raise bad_input(f"{out}: give a name that ends in {' or '.join(FORMATS)}.")
        told = f"v{dataset.version}, rows.{form}"
        record(AuditAction.EXPORTED, Subject("dataset", dataset.name), told, actor=person)
        if out is None:
            for line in LINES[form](dataset, rows_of(dataset)):
                self.stdout.write(line, ending="")
            return
        write_rows(out, dataset, form)
        self.stdout.write(f"{dataset}: {counted(dataset.rows, 'row')} in {out}.")
