"""`manage.py dataset_report NAME`: duplicates, lengths, splits and tags of a dataset."""

from argparse import ArgumentParser
from typing import Any

from runs.access import find_dataset_for
from runs.formatting import counted
from runs.management.site_command import SiteCommand, add_person
from runs.reports.plain import one_line
from runs.selectors.datasets.duplicates import DuplicateGroup
from runs.selectors.datasets.report import DatasetReport, ValueCount, report_on
from runs.services.people.local_account import person_for_command


class Command(SiteCommand):
    help = (
        "Tells which rows of a dataset ask the same, and how long they are. By the input columns: "
        "word for word, or but for case, spaces and punctuation; with the numbers of the rows."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="a dataset, or one version as NAME@3")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        add_person(parser)

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        dataset = find_dataset_for(person_for_command(options["user"]), name)
        report = report_on(dataset)
        if options["json"]:
            self.stdout.write(report.model_dump_json())
            return
        self.stdout.write("\n".join([f"{dataset}: {counted(report.rows, 'row')}.", *lines(report)]))


def lines(report: DatasetReport) -> list[str]:
    lengths, found = report.lengths, report.duplicates
    told = [
        f"Inputs: {one_line(', '.join(report.inputs))}.",
        f"About {lengths.median:,} tokens in the median, {lengths.p95:,} at 95 %, "
        f"{lengths.most:,} at most, {lengths.total:,} together.",
        f"{counted(found.groups, 'group')} of rows ask the same: {found.exact_rows:,} could go "
        f"word for word, {found.near_rows:,} nearly; {found.contradictions:,} with different "
        f"answers, {found.leaks:,} in several parts of the split.",
        *map(group_text, found.listed),
    ]
    told += [f"Split: {values_text(report.splits)}."] if report.splits else []
    return told + ([f"Tags: {values_text(report.tags)}."] if report.tags else [])


def group_text(group: DuplicateGroup) -> str:
    numbers = ", ".join(map(str, group.rows)) + (" …" if group.count > len(group.rows) else "")
    same = "same" if group.exact else "nearly the same"
    also = f", {group.answers} different answers" if group.answers > 1 else ""
    return f"  rows {numbers}: {same}{also}: {one_line(group.text)}"


def values_text(values: list[ValueCount]) -> str:
    return ", ".join(f"{one_line(one.value, 40) or '(none)'} {one.rows:,}" for one in values)
