"""`manage.py init`: the first configuration of a folder, and a CI job that runs it."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from evalsite.env import PROGRAM
from runs.management.refusals import bad_input, refusing
from runs.management.starting_files import evals_file, job_file
from runs.management.surroundings import Found, Rows, find_endpoints, find_rows

FILE = "evals.yaml"
JOB = Path(".github") / "workflows" / "evals.yml"


class Command(BaseCommand):
    help = (
        "Writes evals.yaml and a CI job that fit the folder. It takes a dataset file that is "
        "there, an Ollama that runs, providers whose key is in the environment, and else the "
        "simulated provider. Files that are there already are left alone."
    )
    requires_system_checks = ()  # it needs no database

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "folder", type=Path, nargs="?", default=Path(), help="default: this one"
        )
        parser.add_argument("--no-ci", action="store_true", help="write no CI job")
        parser.add_argument(
            "--force", action="store_true", help="replace files that are there already"
        )
        parser.add_argument("--data", metavar="DIR", help="data folder of the site")

    def handle(self, *args: Any, folder: Path, no_ci: bool, force: bool, **options: Any) -> None:
        with refusing():
            if not folder.is_dir():
                raise bad_input(f"There is no folder {folder}.")
            rows, endpoints = find_rows(folder), find_endpoints()
            texts = {folder / FILE: evals_file(rows, endpoints)}
            if not no_ci:
                texts[folder / JOB] = job_file(FILE, endpoints)
            refuse_existing([path for path in texts if path.exists() and not force])
            for path, text in texts.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        self.stdout.write(told(rows, endpoints, list(texts)))


def refuse_existing(paths: list[Path]) -> None:
    if paths:
        named = " and ".join(map(str, paths))
        raise bad_input(f"{named} would be replaced. Add --force to do so, or move it first.")


def told(rows: Rows | None, endpoints: list[Found], paths: list[Path]) -> str:
    source = f"the rows of {rows.file}" if rows else "six questions in it"
    others = ", ".join(one.name for one in endpoints[1:])
    beside = f" ({others} found, too: see its comments)" if others else ""
    lines = [
        f"Wrote {' and '.join(map(str, paths))}: {source}, asked of "
        f"{endpoints[0].name}/{endpoints[0].model}{beside}.",
        f"Now: {PROGRAM} run {paths[0]}",
    ]
    return "\n".join(lines)
