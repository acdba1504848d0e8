"""`manage.py prune_cache`: removes cached answers by age, model or run."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.utils import timezone

from runs import formatting
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand
from runs.selectors.cache_page import Pruning, count_matching, list_removals
from runs.services.cache import prune_cache, restore_answers


class Command(SiteCommand):
    help = (
        "Removes cached answers by age, model or run. Several options together must all match; "
        "without --yes they are only counted. `prune_cache --undo` brings the last removal back, "
        "for some days (EVALSITE_TRASH_DAYS), unless it was --for-good."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than-days", type=float, help="answers stored longer ago; 0: every age"
        )
        parser.add_argument("--model", default="", help="answers of this model, as endpoint/model")
        parser.add_argument("--run", type=int, help="answers that this run paid for")
        parser.add_argument("--yes", action="store_true", help="remove them")
        parser.add_argument("--for-good", action="store_true", help="at once, which makes room")
        parser.add_argument("--undo", action="store_true", help="bring the last removal back")

    def handle(
        self,
        *args: Any,
        older_than_days: float | None,
        model: str,
        run: int | None,
        yes: bool,
        for_good: bool,
        undo: bool,
        **options: Any,
    ) -> None:
        if undo:
            self.stdout.write(bring_back())
            return
        if older_than_days is None and not model and run is None:
            raise bad_input("Give --older-than-days, --model or --run; 0 days takes everything.")
        if older_than_days is not None and not 0 <= older_than_days <= 36_500:
            raise bad_input(f"--older-than-days is {older_than_days}. Give 0 to 36500.")
        endpoint, slash, name = model.partition("/")
        if model and not slash:
            raise bad_input(f"--model is {model!r}. Write endpoint/model, as in main/gpt-4o.")
        days = None if older_than_days is None else timedelta(days=older_than_days)
        before = None if days is None else timezone.now() - days
        selection = Pruning(before, endpoint, name, run)
        if not yes:
            number = count_matching(selection)
            found = formatting.counted(number, "cached answer matches", "cached answers match")
            self.stdout.write(f"{found}. Add --yes to remove {'it' if number == 1 else 'them'}.")
            return
        done = prune_cache(selection, for_good=for_good)
        hint = " `prune_cache --undo` brings them back." if done.remove_after else ""
        self.stdout.write(f"Removed {formatting.counted(done.removed, 'cached answer')}.{hint}")


def bring_back() -> str:
    """The last removal, and what became of it in words."""
    removals = list_removals()
    if not removals:
        return "No removal can be undone."
    number = restore_answers(removals[0].remove_after)
    return f"Brought back {formatting.counted(number, 'cached answer')}."
