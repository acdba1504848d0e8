"""`manage.py restore run 118`: brings back what was archived or deleted."""

from argparse import ArgumentParser
from typing import Any

from runs.formatting import counted
from runs.management.site_command import SiteCommand, add_person
from runs.management.things import KINDS, do_all, find_all
from runs.services.people.local_account import person_for_command


class Command(SiteCommand):
    help = "Brings back deleted or archived runs, datasets, endpoints, configurations."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=[name for name, kind in KINDS.items() if kind.restore])
        parser.add_argument("names", nargs="+", metavar="NAME", help="of runs their numbers")
        add_person(parser)

    def handle(
        self, *args: Any, what: str, names: list[str], user: str | None, **options: Any
    ) -> None:
        person, act = person_for_command(user), KINDS[what].restore
        things = find_all(what, names, person)
        number = do_all(act, things, person) if act else 0
        self.stdout.write(f"Brought back {counted(number, what)}.")
