"""`manage.py prune_cache`: removes cached answers by age, model or run."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from runs.selectors.cache_page import Selection, count_matching
from runs.services.cache import prune_cache

BAD_INPUT = 2  # exit code


class Command(BaseCommand):
    help = "Remove cached answers that fit all that is given. Without --yes it only counts them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--older-than-days", type=float, help="0 takes every age")
        parser.add_argument("--model", default="", help="as endpoint/model")
        parser.add_argument("--run", type=int, help="number of the run that paid for them")
        parser.add_argument("--yes", action="store_true", help="remove them")

    def handle(
        self,
        *args: Any,
        older_than_days: float | None,
        model: str,
        run: int | None,
        yes: bool,
        **options: Any,
    ) -> None:
        if older_than_days is None and not model and run is None:
            self.refuse("Give --older-than-days, --model or --run; 0 days takes everything.")
        if older_than_days is not None and not 0 <= older_than_days <= 36_500:
            self.refuse(f"--older-than-days is {older_than_days}. Give 0 to 36500.")
        endpoint, slash, name = model.partition("/")
        if model and not slash:
            self.refuse(f"--model is {model!r}. Write endpoint/model, as in openai-main/gpt-4o.")
        days = None if older_than_days is None else timedelta(days=older_than_days)
        before = None if days is None else timezone.now() - days
        selection = Selection(before, endpoint, name, run)
        if not yes:
            number = count_matching(selection)
            self.stdout.write(f"{number:,} cached answers fit. Add --yes to remove them.")
            return
        self.stdout.write(f"{prune_cache(selection):,} cached answers were removed.")

    def refuse(self, message: str) -> None:
        raise CommandError(message, returncode=BAD_INPUT)
