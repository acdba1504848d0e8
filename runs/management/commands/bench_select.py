"""`manage.py bench_select`: which strategy finds the best combination, for how many evaluations."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from workers.engine.errors import ConfigurationError
from workers.engine.statistics.matrices import read_matrix
from workers.engine.statistics.selector_bench import CONTESTANTS, Line, bench, table_of


class Command(BaseCommand):
    help = (
        "Compares on score matrices how well the strategies find the best combination. The "
        "column found is the share of seeds whose choice has the highest accuracy over all "
        "datapoints, alone or with others. A failed run counts as wrong there and in accuracy, "
        "except for arm_elimination, which is as published and leaves failures out. The column "
        "evaluations counts those that gave a score; failed ones have a column of their own."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "matrices",
            nargs="+",
            type=Path,
            metavar="MATRIX",
            help="JSON with combinations and scores, or CSV with a row per combination: its name, "
            "then a column per datapoint. null or empty is a run that failed",
        )
        parser.add_argument(
            "--strategy",
            type=read_names,
            default=list(CONTESTANTS),
            metavar="NAME,...",
            help=f"one or more of {', '.join(CONTESTANTS)}; default: all",
        )
        parser.add_argument(
            "--seeds",
            type=read_seeds,
            default=list(range(42, 92)),
            metavar="42-91",
            help="each seed shuffles the datapoints in another way; default: 42-91",
        )
        parser.add_argument(
            "--json", action="store_true", help="print a JSON list instead of a table"
        )

    def handle(self, **options: Any) -> None:
        try:
            matrices = [read_matrix(path) for path in options["matrices"]]
        except ConfigurationError as error:
            raise CommandError(str(error), returncode=2) from None
        lines: list[Line] = [
            bench(matrix, name, options["seeds"])
            for matrix in matrices
            for name in options["strategy"]
        ]
        if options["json"]:
            self.stdout.write(json.dumps([line._asdict() for line in lines], indent=2))
            return
        self.stdout.write("\n".join(table_of(lines)))


def read_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in CONTESTANTS]
    if unknown or not names:
        raise ArgumentTypeError(
            f"unknown strategy {', '.join(unknown)!r}; choose among {', '.join(CONTESTANTS)}"
        )
    return names


def read_seeds(text: str) -> list[int]:
    """`42-91`, or `7`."""
    first, _, last = text.partition("-")
    try:
        seeds = list(range(int(first), int(last or first) + 1))
    except ValueError:
        seeds = []
    if not seeds:
        raise ArgumentTypeError(f"{text!r} are no seeds; write 42-91, or 7")
    return seeds
