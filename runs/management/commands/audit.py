"""`manage.py audit`: who did what to what, from where, newest first."""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runs import formatting
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand
from runs.models import AuditAction, AuditEntry
from runs.reports.audit_files import jsonl_lines, write_audit
from runs.reports.export import Format
from runs.reports.plain import one_line
from runs.selectors.audit import (
    AuditFilters,
    count_audit_rows,
    every_audit_row,
    every_entry,
    list_audit_rows,
)
from runs.selectors.audit import AuditRow as Row
from runs.services.audit import Subject, record

WIDTH = 160  # columns, where no terminal says how many it has
SHOWN = 50
FORMATS: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl"}


def moment(text: str) -> datetime:
    """A day begins at midnight, and without a zone it is UTC, as everywhere on the site."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        told = f"{text!r} is no moment: write 2026-11-17 or 2026-11-17T14:30+01:00."
        raise argparse.ArgumentTypeError(told) from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def action(text: str) -> str:
    if text not in AuditAction.values:
        names = ", ".join(AuditAction.values)
        raise argparse.ArgumentTypeError(f"{text!r} is no action. There are: {names}.")
    return text


class Command(SiteCommand):
    help = (
        "Shows who did what to what, from where: the audit log, newest first. Whoever may run this "
        "on the site's machine can read its database anyway, so no account is asked for."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--person", default="", metavar="TEXT", help="part of a name, or how a token begins"
        )
        parser.add_argument(
            "--action",
            type=action,
            metavar="NAME",
            help="one action, as run.launched; any other name lists them all",
        )
        parser.add_argument(
            "--about", default="", metavar="TEXT", help="part of the name of what it was done to"
        )
        parser.add_argument("--since", type=moment, metavar="WHEN", help="from then on (UTC)")
        parser.add_argument("--until", type=moment, metavar="WHEN", help="before then (UTC)")
        parser.add_argument(
            "--limit",
            type=int,
            metavar="N",
            help=f"show the newest N; default {SHOWN}, with --json all of them",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object a line")
        parser.add_argument(
            "--export", type=Path, metavar="FILE", help="write all of them to a .csv or .jsonl file"
        )

    def handle(self, *args: Any, limit: int | None, export: Path | None, **options: Any) -> None:
        if limit is not None and limit < 1:
            raise bad_input(f"--limit {limit}: show at least 1.")
        names = ("person", "action", "about", "since", "until")
        filters = AuditFilters(**{name: options[name] for name in names if options[name]})
        if export is not None:
            self._write(export, filters)
        elif options["json"]:
            rows = list_newest(filters, limit) if limit else every_audit_row(every_entry(), filters)
            for line in jsonl_lines(rows):
                self.stdout.write(line, ending="")
        else:
            self._show(filters, limit or SHOWN)

    def _write(self, path: Path, filters: AuditFilters) -> None:
        form = FORMATS.get(path.suffix.lower())
        if form is None:
            raise bad_input(f"{path}: give a name that ends in {' or '.join(FORMATS)}.")
        record(AuditAction.EXPORTED, Subject("audit"), f"audit.{form}")
        rows = write_audit(path, every_audit_row(every_entry(), filters), form)
        self.stdout.write(f"{formatting.counted(rows, 'row')} in {path}.")

    def _show(self, filters: AuditFilters, most: int) -> None:
        rows = list_newest(filters, most)
        if not rows:
            self.stdout.write("Nobody did such a thing." if filters.are_set else "Nothing yet.")
            return
        width = None if self.stdout.isatty() else WIDTH
        console = Console(file=self.stdout, width=width, highlight=False)  # type: ignore[arg-type]
        console.print(table_of(rows))
        if (total := count_audit_rows(every_entry(), filters)) > len(rows):
            more = f"The newest {len(rows):,} of {total:,}. --limit N shows more, --export all."
            console.print(Text(more))


def list_newest(filters: AuditFilters, most: int) -> list[Row]:
    return list_audit_rows(every_entry(), filters, most, before=None)


def table_of(rows: list[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("When (UTC)", no_wrap=True)
    for title in ("Who", "What", "About", "Detail", "From"):
        table.add_column(title, overflow="fold")
    for row in rows:
        entry = AuditEntry(action=row.action, door=row.door)
        who = f"{row.actor or 'nobody'} ({row.token}…)" if row.token else row.actor or "nobody"
        told = (
            row.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S"),
            who,
            entry.action_words,
            f"{row.subject_kind} {row.subject}",
            row.detail,
            f"{entry.door_words} {row.address}",
        )
        table.add_row(*(Text(one_line(cell, 300)) for cell in told))
    return table
