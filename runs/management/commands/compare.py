"""`manage.py compare BASE WITH...`: what got worse and what got better, over the same cases."""

import json
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runs import formatting
from runs.access import get_run_for
from runs.management.site_command import SiteCommand, add_person
from runs.reports.plain import one_line
from runs.selectors.runs.compare import (
    ChangedTrial,
    RunComparison,
    SideFacts,
    compare_sides,
    side_of,
)
from runs.services.people.local_account import person_for_command
from workers.engine.statistics.paired import Difference

WIDTH = 120  # columns, where no terminal says how many it has


class Command(SiteCommand):
    help = (
        "Compares runs with a base run on the cases that both have. Prints the mean difference "
        "with its 95 % interval and p-value, the regressions, and what keeps two runs from "
        "being fully comparable."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "base", type=int, metavar="BASE", help="number of the run to compare with"
        )
        parser.add_argument(
            "others", type=int, nargs="+", metavar="WITH", help="numbers of the other runs"
        )
        parser.add_argument(
            "--show",
            type=int,
            default=20,
            metavar="N",
            help="show at most N changed trials; default 20",
        )
        add_person(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        person = person_for_command(options["user"])
        base, *others = (get_run_for(person, pk) for pk in (options["base"], *options["others"]))
        base_side = side_of(base)
        for other in others:
            found = compare_sides(base_side, side_of(other))
            if options["json"]:
                self.stdout.write(json.dumps(found.as_record(options["show"])))
            else:
                show(self._console(), found, options["show"])

    def _console(self) -> Console:
        width = None if self.stdout.isatty() else WIDTH
        return Console(file=self.stdout, width=width, highlight=False)  # type: ignore[arg-type]


def show(console: Console, found: RunComparison, most: int) -> None:
    console.print(Text(f"Run {found.other.run_id} against run {found.base.run_id}", style="bold"))
    for word, side in (("base", found.base), ("with", found.other)):
        console.print(Text(f"  {word}  {side_text(side)}"))
    worse = formatting.counted(found.regressions, "regression")
    better = formatting.counted(found.improvements, "improvement")
    console.print(Text(f"  {difference_text(found.overall)}", style=style_of(found.overall)))
    pairs = formatting.counted(found.pairs, "trial")
    console.print(Text(f"  {worse} and {better} in {pairs} that both runs have"))
    for mark in found.marks:
        console.print(Text(f"  Not fully comparable: {one_line(mark, 400)}", style="yellow"))
    if len(found.candidates) > 1:
        console.print(candidate_table(found))
    if found.changed and most > 0:
        console.print(changed_table(found.changed[:most]))
    if len(found.changed) > most:
        more = formatting.counted(len(found.changed) - most, "more trial")
        console.print(Text(f"{more} changed: --show N shows more, --json all of them."))
    console.print()


def side_text(side: SideFacts) -> str:
    failed = f", {side.failed:,} failed" if side.failed else ""
    score = f"score {formatting.score(side.value)}, n = {side.n:,}{failed}"
    return f"{one_line(side.name)} on {one_line(side.dataset)}: {score}"


def difference_text(found: Difference | None) -> str:
    if found is None:
        return "The runs have no scored trial in common."
    return found.text


def style_of(found: Difference | None) -> str:
    if found is None or found.p >= 0.05:
        return ""
    return "red" if found.mean < 0 else "green"


def candidate_table(found: RunComparison) -> Table:
    table = Table("Candidate", "Difference", box=None, title="Candidates", title_justify="left")
    for candidate in found.candidates:
        text = difference_text(candidate.difference)
        style = style_of(candidate.difference)
        table.add_row(Text(one_line(candidate.after, 60)), Text(text, style=style))
    for name in found.only_before:
        table.add_row(Text(one_line(name, 60)), Text("only in the base"))
    for name in found.only_after:
        table.add_row(Text(one_line(name, 60)), Text("not in the base"))
    return table


def changed_table(changed: list[ChangedTrial]) -> Table:
    heads = ("Before", "After", "Candidate", "Case", "Question")
    table = Table(
        *heads, box=None, title="Changed trials, the largest drop first", title_justify="left"
    )
    for trial in changed:
        place = f"{trial.case}" + (f", repeat {trial.repeat}" if trial.repeat else "")
        style = "red" if trial.change < 0 else "green"
        table.add_row(
            Text(f"{trial.before:g}"),
            Text(f"{trial.after:g}", style=style),
            Text(one_line(trial.candidate, 40)),
            Text(place),
            Text(one_line(trial.question, 50)),
        )
    return table
