"""`manage.py split_dataset NAME train=0.8 test=0.2`: a version with the part of each row."""

from argparse import ArgumentParser
from typing import Any

from runs.access import find_dataset_for
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand, add_person
from runs.models.dataset import ColumnRole
from runs.services.datasets.splitting import SplitError, split_dataset
from runs.services.datasets.storing import DatasetError
from runs.services.people.local_account import person_for_command


class Command(SiteCommand):
    help = (
        "Adds a version with a column that names the part of each row. By share and seed; equal "
        "rows are in the same part. `run --split test` and `split: test` take one of them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="a dataset, or one version as NAME@3")
        parser.add_argument(
            "parts", nargs="+", metavar="PART=SHARE", help="as in train=0.8 test=0.2; together 1"
        )
        parser.add_argument(
            "--seed", type=int, default=0, metavar="SEED", help="parts the rows; default 0"
        )
        add_person(parser)

    def handle(self, *args: Any, name: str, parts: list[str], seed: int, **options: Any) -> None:
        person = person_for_command(options["user"])
        dataset = find_dataset_for(person, name, write=True)
        try:
            stored = split_dataset(person, dataset, dict(map(read_part, parts)), seed)
        except (SplitError, DatasetError) as error:
            raise bad_input(str(error)) from None
        self.stdout.write(f"{stored}: parts in the column {stored.column_for(ColumnRole.SPLIT)}.")


def read_part(text: str) -> tuple[str, float]:
    name, _, share = text.partition("=")
    try:
        return name.strip(), float(share)
    except ValueError:
        raise bad_input(f"{text}: write PART=SHARE, as in train=0.8.") from None
