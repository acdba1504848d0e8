"""`manage.py maintenance begin` and `end`: pause every run, and let them go on."""

from argparse import ArgumentParser
from typing import Any

from runs.management.site_command import SiteCommand, add_person
from runs.selectors.system.maintenance import current_maintenance
from runs.services.control.maintenance import begin_maintenance, end_maintenance
from runs.services.people.local_account import person_for_command


class Command(SiteCommand):
    help = (
        "Pauses every run for a while of work on the site, and lets them go on. "
        "Calls in flight end and are stored; runs that are launched meanwhile wait."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("do", choices=("begin", "end", "show"))
        parser.add_argument("--reason", default="", help="shown on every page and on the runs")
        add_person(parser)

    def handle(self, *args: Any, do: str, reason: str, user: str | None, **options: Any) -> None:
        if do == "begin":
            begin_maintenance(person_for_command(user), reason)
        elif do == "end":
            self.stdout.write("\n".join(end_maintenance(person_for_command(user))))
            return
        row = current_maintenance()
        self.stdout.write(f"There is {row}." if row else "There is no maintenance.")
