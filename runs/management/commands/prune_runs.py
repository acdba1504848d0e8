"""`manage.py prune_runs`: removes finished runs that are older than a number of days."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.services.retention import count_old, prune_runs

BAD_INPUT = 2  # exit code


class Command(BaseCommand):
    help = "Remove runs that ended long ago, with their scores. Without --yes it only counts them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--older-than-days", type=float, required=True)
        parser.add_argument("--yes", action="store_true", help="remove them")

    def handle(self, *args: Any, older_than_days: float, yes: bool, **options: Any) -> None:
        if not 0 <= older_than_days <= 36_500:
            told = f"--older-than-days is {older_than_days}. Give 0 to 36500."
            raise CommandError(told, returncode=BAD_INPUT)
        before = timezone.now() - timedelta(days=older_than_days)
        if yes:
            self.stdout.write(f"Runs removed: {prune_runs(before):,}.")
            return
        runs, scores = count_old(before)
        self.stdout.write(f"Runs: {runs:,}, with {scores:,} scores. Add --yes to remove them.")
