"""`manage.py estimate FILE_OR_NAME`: what a run would take, with nothing started."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from runs import formatting
from runs.management.documents import add_document, load_document
from runs.management.file_endpoints import take_endpoints
from runs.management.site_command import SiteCommand
from runs.selectors.estimates.estimate import Estimate, estimate
from runs.selectors.named_parts import every_dataset
from runs.selectors.prompts import every_prompt
from workers.engine.errors import ConfigurationError


class Command(SiteCommand):
    help = (
        "Estimates the calls, cost and time of a run, and starts nothing. Also says what limits "
        "its speed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_document(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        document = load_document(options)
        own = take_endpoints(document)
        found = estimate(document, every_dataset(), prompts=every_prompt(), own=own.endpoints)
        if found.problems:
            raise ConfigurationError(found.problems)
        self.stdout.write(json.dumps(record_of(found)) if options["json"] else text_of(found))


def record_of(found: Estimate) -> dict[str, Any]:
    record = asdict(found)
    del record["problems"]
    return {**record, "allocation": found.allocation._asdict()}


def text_of(found: Estimate) -> str:
    product = " x ".join(
        f"{number:,} {word}{'' if number == 1 else 's'}"
        for number, word in (
            (found.candidates, "candidate"),
            (found.cases, "case"),
            (found.repeats, "repeat"),
        )
    )
    lines = {
        "Trials": f"{range_text(found.trials_low, found.trials)}  ({product})",
        "Rows": f"{found.cases:,} of {found.rows:,}; expected answer: {found.expected or 'none'}",
        **({"Held out": held_out_text(found)} if found.held_out else {}),
        "Cached": found.calls_cached_text,
        "Calls": range_text(found.calls_low, found.calls_to_send),
        "Cost": found.cost_text,
        **({"Proposals": proposals_text(found)} if found.proposals else {}),
        **({"Judges": judges_text(found)} if found.judge_calls else {}),
        "Time": time_text(found),
        "Limited by": found.limited_by,
        "Basis": found.basis,
    }
    return "\n".join([*(f"{name:11} {text}" for name, text in lines.items()), *found.over_budget])


def held_out_text(found: Estimate) -> str:
    cases = formatting.counted(found.held_out, "case")
    return f"{cases}, on which {found.on_held_out}: {found.confirming:,} trials more"


def proposals_text(found: Estimate) -> str:
    return f"at most {found.proposals:,} of the calls, {found.proposals_cost_text} of the cost"


def judges_text(found: Estimate) -> str:
    return f"at most {found.judge_calls:,} calls, {found.judge_cost_text}"


def range_text(low: int, high: int) -> str:
    return f"{high:,}" if low == high else f"{low:,} – {high:,}"


def time_text(found: Estimate) -> str:
    low, high = formatting.duration(found.seconds_low), formatting.duration(found.seconds_high)
    return low if low == high else f"{low} – {high}"
