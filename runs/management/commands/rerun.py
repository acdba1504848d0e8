"""`manage.py rerun RUN`: runs chosen trials of a run again, and waits for the result."""

import sys
from argparse import ArgumentTypeError
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import CommandParser

from runs.access import get_run_for
from runs.management.commands.run import refuse_contradictions
from runs.management.gating import Asked, add_gates, read_gates
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand, add_person
from runs.management.voices import Voice, choose_voice
from runs.management.watching import planned_of, refuse_without_site
from runs.management.whole_runs import finish
from runs.models import Run
from runs.selectors.scores.chosen import MOST_TICKED, TrialChoice
from runs.selectors.scores.trials import STATUSES, TrialFilters, find_candidate
from runs.services.control.rerunning import rerun_as_new, rerun_in_place
from runs.services.people.local_account import person_for_command
from workers.engine.errors import CALL_ERRORS


class Command(SiteCommand):
    help = (
        "Runs chosen trials of a run again: failed, wrong or named ones. As a new run on their "
        "cases, or in place, where the new results replace the old ones. Then waits; result and "
        "exit codes are those of `run`."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", type=int, metavar="RUN", help="number of the run")
        which = parser.add_argument_group("which trials; all that are given must fit")
        for name in ("failed", "wrong"):
            which.add_argument(
                f"--{name}",
                dest="status",
                action="store_const",
                const=name,
                help=f"the same as --status {name}",
            )
        which.add_argument("--status", choices=list(STATUSES), help="those with this result")
        which.add_argument("--error", choices=list(CALL_ERRORS), help="those with this error")
        which.add_argument("--candidate", metavar="KEY", help="those of one candidate")
        which.add_argument("--case", type=int, metavar="ROW", help="those on one row")
        which.add_argument(
            "--trials", type=read_trials, default=(), metavar="N,N", help="these, by their numbers"
        )
        parser.add_argument(
            "--in-place",
            action="store_true",
            help="run them again in this run; their old results are gone",
        )
        parser.add_argument(
            "--cache",
            choices=["refresh", "use"],
            default="refresh",
            help="of a new run: ask again (the default), or use what is known",
        )
        add_person(parser)
        parser.add_argument(
            "--json", action="store_true", help="print an object a line, for programs"
        )
        parser.add_argument("--detach", action="store_true", help="return at once")
        add_gates(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_contradictions({**options, "here": False})
        owner = person_for_command(options["user"])
        run = get_run_for(owner, options["run"], write=True)
        choice = choice_of(run, options)
        asked = read_gates(options, owner, run.document, before=run.pk)
        if not options["detach"]:
            refuse_without_site()
        voice = choose_voice(self.stdout, self.stderr, as_json=options["json"])  # type: ignore[arg-type]
        try:
            exit_code = again(run, owner, choice, options, asked, voice)
        finally:
            voice.close()
        if exit_code:
            sys.exit(exit_code)


def again(
    run: Run,
    owner: AbstractBaseUser,
    choice: TrialChoice,
    options: dict[str, Any],
    asked: Asked,
    voice: Voice,
) -> int:
    if options["in_place"]:
        count = rerun_in_place(run, owner, choice)
        voice.tell("rerun", f"Running {choice.words(count)} again, in place.")
        run.refresh_from_db()
    else:
        run = rerun_as_new(run, owner, choice, cache=options["cache"])
        voice.tell("rerun", f"Rerunning {run.rerun_what} of run {run.rerun_of_id}.")
    voice.launched(run.pk, run.name, planned_of(run), run.get_absolute_url())
    return 0 if options["detach"] else finish(run, asked, voice)


def choice_of(run: Run, options: dict[str, Any]) -> TrialChoice:
    place = None
    if options["candidate"] and (place := find_candidate(run, options["candidate"])) is None:
        raise bad_input(f"No candidate of run {run.pk} has the key {options['candidate']!r}.")
    filters = TrialFilters(
        status=options["status"] or "",
        candidate=place,
        cases=() if options["case"] is None else (options["case"],),
        error=options["error"] or "",
    )
    return TrialChoice(filters, options["trials"])


def read_trials(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() and len(part) < 10 for part in parts) or not parts:
        raise ArgumentTypeError("Give numbers of trials with commas between them, as in 3,5,8.")
    if len(parts) > MOST_TICKED:
        raise ArgumentTypeError(f"Name at most {MOST_TICKED:,} trials; filters choose more.")
    return tuple(sorted({int(part) for part in parts}))
