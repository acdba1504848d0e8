"""`manage.py prune_runs`: removes finished runs that are older than a number of days."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.utils import timezone

from runs import formatting
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand
from runs.services.removing.retention import count_old, prune_runs


class Command(SiteCommand):
    help = (
        "Removes runs that ended long ago, with their scores. Without --yes they are only counted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--older-than-days", type=float, required=True, help="ended longer ago")
        parser.add_argument("--yes", action="store_true", help="remove them")

    def handle(self, *args: Any, older_than_days: float, yes: bool, **options: Any) -> None:
        if not 0 <= older_than_days <= 36_500:
            raise bad_input(f"--older-than-days is {older_than_days}. Give 0 to 36500.")
        before = timezone.now() - timedelta(days=older_than_days)
        if yes:
            self.stdout.write(f"Removed {formatting.counted(prune_runs(before), 'run')}.")
            return
        runs, scores = count_old(before)
        found = f"{formatting.counted(runs, 'run')} with {formatting.counted(scores, 'score')}"
        self.stdout.write(f"{found}. Add --yes to remove {'it' if runs == 1 else 'them'}.")
