"""`manage.py export_run RUN --out FILE`: scores or report of a run as a file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from runs.access import get_run_for
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand, add_person
from runs.models import AuditAction
from runs.reports.export import FORMATS, check_export, write_scores
from runs.run_reports import REPORT_FILES
from runs.selectors.scores.lines import read_lines
from runs.services.audit import record
from runs.services.people.local_account import person_for_command

REPORTS = {f".{name.rpartition('.')[2]}": file for name, file in REPORT_FILES.items()}


class Command(SiteCommand):
    help = (
        "Writes the scores of a run, or its report, as a file. Scores as .csv, .jsonl or .parquet; "
        "the report as .html (one file that needs nothing else), .md or .xml (JUnit)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=int, metavar="RUN", help="number of the run")
        parser.add_argument(
            "--out", type=Path, metavar="FILE", required=True, help="its ending says what to write"
        )
        parser.add_argument(
            "--records",
            action="store_true",
            help="with the scores, also what each trial recorded, if its kind of run does that",
        )
        add_person(parser)

    def handle(self, *args: Any, run: int, out: Path, records: bool, **options: Any) -> None:
        person = person_for_command(options["user"])
        found = get_run_for(person, run)
        check_export(out, tuple(REPORTS))
        suffix = out.suffix.lower()
        if records and suffix not in FORMATS:
            raise bad_input(f"--records goes with scores: {', '.join(FORMATS)}.")
        record(AuditAction.EXPORTED, found, f"{suffix.lstrip('.')} by a command", actor=person)
        if suffix in FORMATS:
            write_scores(out, read_lines(found, with_records=records), with_records=records)
        if suffix in REPORTS:
            out.write_text(REPORTS[suffix].write(found), encoding="utf-8")
        self.stdout.write(f"Run {found.pk} in {out}.")
