"""`manage.py run FILE_OR_NAME`: launches a run, waits for it, and says whether it passed."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from evalsite.env import PROGRAM
from runs.management import here_results, here_runs
from runs.management.documents import add_document, load_document, stored_unchanged
from runs.management.file_endpoints import take_endpoints
from runs.management.gating import (
    NO_BASELINE,
    Asked,
    add_gates,
    hand_out,
    read_gates,
    report_of_here,
)
from runs.management.refusals import bad_input
from runs.management.result_files import make_result_file
from runs.management.simulating import simulated_provider_for
from runs.management.site_command import SiteCommand, add_person
from runs.management.voices import Planned, Voice, choose_voice
from runs.management.watching import INTERRUPTED, planned_of
from runs.management.where import why_here
from runs.management.whole_runs import finish
from runs.models import Endpoint
from runs.services.people.local_account import person_for_command
from runs.services.runs import Source, create_run


class Command(SiteCommand):
    help = (
        "Runs a configuration and waits for the result. It is a YAML or JSON file, or the name "
        "of a stored configuration. On a terminal a progress bar and the leaderboard are shown, "
        "else one JSON object a line."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        self.add_subject(parser)
        add_person(parser)
        parser.add_argument(
            "--json", action="store_true", help="print an object a line, for programs"
        )
        parser.add_argument(
            "--here",
            action="store_true",
            help="run in this process, also if a site is up, as without one; stored answers are "
            "read, and nothing but the scores is written, to a file in the data folder",
        )
        waiting = parser.add_mutually_exclusive_group()
        waiting.add_argument(
            "--wait", action="store_true", help="wait until the run has ended; the default"
        )
        waiting.add_argument(
            "--detach", action="store_true", help="launch the run and return at once"
        )
        add_gates(parser)

    def add_subject(self, parser: CommandParser) -> None:
        """What is to be run."""
        add_document(parser)

    def read_subject(self, options: dict[str, Any]) -> dict[str, Any]:
        return load_document(options)

    def source_of(self, options: dict[str, Any], document: dict[str, Any]) -> Source:
        """So that it counts among the runs of a stored configuration."""
        return Source(configuration=stored_unchanged(options, document))

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_contradictions(options)
        owner = person_for_command(options["user"])
        document = self.read_subject(options)
        own = take_endpoints(document)
        asked = read_gates(options, owner, document)
        voice = choose_voice(self.stdout, self.stderr, as_json=options["json"])  # type: ignore[arg-type]
        try:
            why = "" if options["here"] else why_here(own.endpoints, detach=options["detach"])
            if options["here"] or why:
                exit_code = run_in_process(document, own.with_keys(), asked, voice, why)
            else:
                exit_code = self._run(options, owner, document, asked, voice)
        finally:
            voice.close()
        if exit_code:
            sys.exit(exit_code)

    def _run(
        self,
        options: dict[str, Any],
        owner: User,
        document: dict[str, Any],
        asked: Asked,
        voice: Voice,
    ) -> int:
        run = create_run(owner, document, source=self.source_of(options, document))
        voice.launched(run.pk, run.name, planned_of(run), run.get_absolute_url())
        if options["detach"]:
            return 0
        if asked.lacks_baseline:
            voice.tell("baseline", NO_BASELINE)
        return finish(run, asked, voice)


def refuse_contradictions(options: dict[str, Any]) -> None:
    if not options["detach"]:
        return
    later = ["min_score", "baseline", "max_regressions", "max_error_rate", "max_cost", "junit",
             "summary", "export"]  # fmt: skip
    given = [f"--{name.replace('_', '-')}" for name in later if options[name] is not None]
    if options["here"]:
        given.append("--here")
    if given:
        raise bad_input(
            f"--detach does not wait for the result, which {', '.join(given)} would need. Leave "
            f"--detach out, or give the other options to `{PROGRAM} watch RUN` later."
        )


def run_in_process(
    document: dict[str, Any],
    endpoints: Mapping[str, Endpoint],
    asked: Asked,
    voice: Voice,
    why: str = "",
) -> int:
    """`why`: in words, where nobody asked for it."""
    run = here_runs.prepare(document, endpoints)
    asked = replace(asked, export=asked.export or make_result_file(run.configuration.name))
    planned = Planned(run.planned, is_most=run.configuration.learns)
    voice.launched(None, run.configuration.name, planned, "")
    if why:
        voice.tell("here", why)
    if asked.lacks_baseline:
        voice.tell("baseline", NO_BASELINE)
    try:
        with simulated_provider_for(run.endpoints.values()):
            here_runs.execute(run, voice)
    except KeyboardInterrupt:
        voice.close()
        told = f"Stopped after {len(run.scores):,} of {run.planned:,} trials; nothing is stored."
        voice.tell("cancelled", told)
        return INTERRUPTED
    report = report_of_here(run, asked)
    lines = here_results.read_lines(run, with_records=asked.records)
    hand_out(report, asked, lines, document)
    voice.done(report, str(asked.export))
    return int(report.exit)
