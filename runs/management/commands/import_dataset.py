"""`manage.py import_dataset NAME FILE`: a dataset from a CSV, JSON or JSONL file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from runs.formatting import counted
from runs.management.file_rows import FORMATS
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand, add_person
from runs.services.datasets.roles import RoleError, describe_columns
from runs.services.datasets.storing import (
    DatasetError,
    guess_format,
    import_dataset,
)
from runs.services.people.local_account import person_for_command


def read_role(text: str) -> tuple[str, str]:
    column, _, role = text.rpartition("=")
    return column, role


class Command(SiteCommand):
    help = (
        "Imports a CSV, JSON or JSONL file as a dataset. An existing name gets a new version; if a "
        "line is wrong, nothing is imported. Lists and objects in a field become JSON text."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of the dataset")
        parser.add_argument("file", type=Path, help="a .csv, .json or .jsonl file in UTF-8")
        parser.add_argument(
            "--expected",
            metavar="COLUMN",
            default="",
            help="the column with the right answers; else the one of the version before, or one "
            "named expected, answer, target, label or output",
        )

        parser.add_argument(
            "--role",
            action="append",
            default=[],
            metavar="COLUMN=ROLE",
            help="what a column is for: input, metadata, split, tags or id; may be given again. "
            "Others are as in the version before, or found by their names",
        )

        parser.add_argument(
            "--share",
            action="store_true",
            help="let everybody on the site see it, in all its versions; else it is as it was, and "
            "a new one is private",
        )
        add_person(parser)

    def handle(
        self, *args: Any, name: str, file: Path, expected: str, share: bool, **options: Any
    ) -> None:
        try:
            with file.open("rb") as source:
                format = FORMATS.get(file.suffix.lower()) or guess_format(source)
                owner = person_for_command(options["user"])
                dataset = import_dataset(owner, name, source, format, expected, share=share)
                describe_columns(dataset, dict(map(read_role, options["role"])))
        except OSError as error:
            raise bad_input(f"{file} cannot be read: {error.strerror}.") from None
        except RoleError as error:
            raise bad_input(f"Imported, but --role was not applied: {error}") from None
        except DatasetError as error:
            lines = "\n".join(f"  line {line}: {message}" for line, message in error.problems)
            raise bad_input(f"Nothing was imported from {file}:\n{lines}") from None
        rows, columns = counted(dataset.rows, "row"), counted(len(dataset.columns), "column")
        answers = dataset.expected_column or "none; name one with --expected COLUMN"
        known = "" if dataset.is_new else " already"
        self.stdout.write(f"{dataset}{known}: {rows}, {columns}. Expected answer: {answers}.")
