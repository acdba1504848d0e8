"""`manage.py retention`: what the site removes by itself, and setting it."""

from argparse import ArgumentParser
from typing import Any

from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand
from runs.selectors.system.retention import Rules, forecast, stored_rules
from runs.services.removing.rules import set_retention

USUAL = "default"


class Command(SiteCommand):
    help = (
        "Shows what the site removes by itself, what goes next and when, or sets it. A number, "
        f"0 to keep for ever, or {USUAL} for what the environment says. Runs are kept for ever "
        "unless somebody says otherwise."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--run-days", metavar="N", help="runs, after their end")
        parser.add_argument("--sample-days", metavar="N", help="points of charts, after the end")
        parser.add_argument("--cache-days", metavar="N", help="cached answers, by age")
        parser.add_argument("--cache-megabytes", metavar="N", help="the oldest beyond this size")

    def handle(self, *args: Any, **options: Any) -> None:
        given = {name: options[name] for name in Rules._fields if options[name] is not None}
        if given:
            stored = stored_rules()
            values = {name: getattr(stored, name) for name in Rules._fields}
            values |= {name: number_of(name, text) for name, text in given.items()}
            set_retention(None, values)
        found = forecast()
        for line in found.lines:
            if line.value is None:
                self.stdout.write(f"{line.label}: kept for ever.")
                continue
            later = f"; the next one at {line.next_at:%Y-%m-%d %H:%M} UTC" if line.next_at else ""
            self.stdout.write(f"{line.label}: {line.value:,}. Due now: {line.due}{later}.")
        if found.looks_at:
            self.stdout.write(f"Looked at next: {found.looks_at:%Y-%m-%d %H:%M} UTC.")


def number_of(name: str, text: str) -> int | None:
    if text == USUAL:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        option = f"--{name.replace('_', '-')}"
        raise bad_input(f"{option} is {text!r}. Give a whole number, 0, or {USUAL}.")
    return int(text)
