"""`manage.py delete run 118`: puts things away that can be brought back for a while."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings

from runs.formatting import counted
from runs.management.site_command import SiteCommand, add_person
from runs.management.things import KINDS, do_all, find_all
from runs.services.people.local_account import person_for_command


class Command(SiteCommand):
    help = (
        "Deletes runs, datasets, endpoints or configurations. Without --yes it only says what goes "
        "with them. They can be brought back by `restore` for some days (EVALSITE_TRASH_DAYS). "
        "Cached answers are removed by `prune_cache`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=list(KINDS))
        parser.add_argument("names", nargs="+", metavar="NAME", help="of runs their numbers")
        parser.add_argument("--yes", action="store_true", help="delete them")
        add_person(parser)

    def handle(
        self, *args: Any, what: str, names: list[str], yes: bool, user: str | None, **options: Any
    ) -> None:
        person, kind = person_for_command(user), KINDS[what]
        things = find_all(what, names, person)
        if not yes:
            for thing in things:
                self.stdout.write(f"{thing}: {kind.takes(thing)}.")
            self.stdout.write(f"Add --yes to delete {'it' if len(things) == 1 else 'them'}.")
            return
        number = do_all(kind.delete, things, person)
        undo = f" `restore {what}` brings them back for {settings.TRASH_DAYS} days."
        self.stdout.write(f"Deleted {counted(number, what)}.{undo}")
