"""`manage.py compare BASE WITH...`: what got worse and what got better, over the same cases."""

import json
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runs import formatting
from runs.forms.compared import LAST, MOST_COMPARED, find_compared, read_compared
from runs.management.site_command import SiteCommand, add_person
from runs.reports.plain import one_line
from runs.selectors.comparing.comparison import ChangedTrial, RunComparison, SideFacts
from runs.selectors.comparing.metrics import MeasuredChange
from runs.selectors.comparing.several import compare_all
from runs.services.people.local_account import person_for_command
from workers.engine.statistics.paired import Difference

WIDTH = 120  # columns, where no terminal says how many it has


class Command(SiteCommand):
    help = (
        "Compares runs with a base run on the cases that both have. Prints the differences of "
        "score, errors, cost and latency with their 95 % intervals and p-values, the regressions, "
        "and what keeps two runs from being fully comparable. A run is its number, as 118; one of "
        "its candidates is named by its position, as 118:3."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "base",
            metavar="BASE",
            help=f"run or candidate to compare with, or {LAST}: the complete run of the same name "
            "before the first WITH",
        )
        parser.add_argument(
            "others",
            nargs="+",
            metavar="WITH",
            help=f"1 to {MOST_COMPARED - 1} other runs or candidates",
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
        others = list(dict.fromkeys(map(read_compared, options["others"])))
        for found in compare_all(find_compared(person, options["base"], others).sides()):
            if options["json"]:
                self.stdout.write(json.dumps(found.as_record(options["show"])))
            else:
                show(self._console(), found, options["show"])

    def _console(self) -> Console:
        width = None if self.stdout.isatty() else WIDTH
        return Console(file=self.stdout, width=width, highlight=False)  # type: ignore[arg-type]


def show(console: Console, found: RunComparison, most: int) -> None:
    base, other = found.base_side.label, found.other_side.label
    console.print(Text(f"Run {other} against run {base}", style="bold"))
    for word, side in (("base", found.base), ("with", found.other)):
        console.print(Text(f"  {word}  {side_text(side)}"))
    worse = formatting.counted(found.regressions, "regression")
    better = formatting.counted(found.improvements, "improvement")
    console.print(Text(f"  {one_line(found.verdict, 400)}", style=style_of(found.overall)))
    for metric in found.metrics:
        console.print(Text(f"  {metric_text(metric)}"))
    pairs = formatting.counted(found.pairs, "trial")
    console.print(Text(f"  {worse} and {better} in {pairs} that both runs have"))
    for mark in found.marks:
        console.print(Text(f"  Not fully comparable: {one_line(mark, 400)}", style="yellow"))
    if len(found.candidates) > 1:
        console.print(candidate_table(found))
    if found.changed_total and most > 0:
        console.print(changed_table(found.changed(most)))
    if found.changed_total > most:
        more = formatting.counted(found.changed_total - most, "more trial")
        console.print(Text(f"{more} changed: --show N shows more, --json all of them."))
    console.print()


def side_text(side: SideFacts) -> str:
    failed = f", {side.failed:,} failed" if side.failed else ""
    score = f"score {formatting.score(side.value)}, n = {side.n:,}{failed}"
    return f"{one_line(side.name)} on {one_line(side.dataset)}: {score}"


def metric_text(metric: MeasuredChange) -> str:
    """Score: 0.810 -> 0.842, +0.032 (+0.011 to +0.053), better; 20 wins, 8 losses, 172 ties."""
    write = metric.measure.write
    text = f"{metric.measure.title}: {write(metric.base)} -> {write(metric.value)}"
    if metric.difference:
        text += f", {metric.change_text} ({metric.interval_text})"
    text += f", {metric.word}"
    if metric.tally and metric.difference:
        tally = metric.tally
        text += f"; {tally.wins:,} wins, {tally.losses:,} losses, {tally.ties:,} ties"
    return text


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
