"""`manage.py watch RUN`: waits for a run that was launched elsewhere, with the gates of `run`."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from runs.access import get_run_for
from runs.management.gating import NO_BASELINE, add_gates, read_gates
from runs.management.site_command import SiteCommand, add_person
from runs.management.voices import choose_voice
from runs.management.watching import planned_of
from runs.management.whole_runs import finish
from runs.services.people.local_account import person_for_command


class Command(SiteCommand):
    help = "Waits for a run that was launched earlier. Result and exit codes are those of `run`."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", type=int, metavar="RUN", help="number of the run")
        add_person(parser)
        parser.add_argument(
            "--json", action="store_true", help="print an object a line, for programs"
        )
        add_gates(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        owner = person_for_command(options["user"])
        run = get_run_for(owner, options["run"])
        asked = read_gates(options, owner, run.document, before=run.pk)
        voice = choose_voice(self.stdout, self.stderr, as_json=options["json"])  # type: ignore[arg-type]
        voice.launched(run.pk, run.name, planned_of(run), run.get_absolute_url())
        if asked.lacks_baseline:
            voice.tell("baseline", NO_BASELINE)
        try:
            exit_code = finish(run, asked, voice)
        finally:
            voice.close()
        if exit_code:
            sys.exit(exit_code)
