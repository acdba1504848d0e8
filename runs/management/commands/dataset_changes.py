"""`manage.py dataset_changes NAME --base N`: what changed between two versions of a dataset."""

import json
from argparse import ArgumentParser
from typing import Any

from runs.access import datasets_for, find_dataset_for
from runs.formatting import counted
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand, add_person
from runs.reports.plain import one_line
from runs.selectors.datasets.changes import (
    KINDS,
    ChangedRow,
    NoBaseError,
    base_version,
    changes_between,
    read_changed,
)
from runs.services.people.local_account import person_for_command


class Command(SiteCommand):
    help = (
        "Tells which rows were added, removed and changed between two versions. Rows are matched "
        "by the id column of the dataset; without one, by their inputs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="a dataset, or one version as NAME@3")
        parser.add_argument(
            "--base", type=int, metavar="N", help="version to compare with; default: the one before"
        )
        parser.add_argument(
            "--show",
            type=int,
            default=20,
            metavar="N",
            help="show at most N rows of each; default 20",
        )
        parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
        add_person(parser)

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        person = person_for_command(options["user"])
        dataset = find_dataset_for(person, name)
        try:
            base = base_version(datasets_for(person), dataset, options["base"])
        except NoBaseError as error:
            raise bad_input(str(error)) from None
        changes = changes_between(base, dataset)
        counts = {kind: changes.count(kind) for kind in KINDS}
        if options["json"]:
            about = {"name": dataset.name, "version": dataset.version, "base": base.version}
            self.stdout.write(json.dumps({**about, **counts, "same": changes.same}))
            return
        told = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        by = one_line(", ".join(changes.matched_by))
        self.stdout.write(
            f"v{base.version} to v{dataset.version}: {told}, {changes.same:,} the same; by {by}."
        )
        for kind in KINDS:
            for row in read_changed(base, dataset, changes.pairs[kind][: options["show"]]):
                self.stdout.write(f"  {kind} {row_text(row, dataset.columns)}")
            if (more := counts[kind] - options["show"]) > 0:
                self.stdout.write(
                    f"  … and {counted(more, 'more row')} {kind}; --show N shows more."
                )


def row_text(row: ChangedRow, columns: list[str]) -> str:
    case = row.after or row.before
    where = f"row {case.position + 1}: {one_line(case.question)}" if case else ""
    named = row.changed_columns(columns) if row.before and row.after else []
    return f"{where} ({one_line(', '.join(named))})" if named else where
