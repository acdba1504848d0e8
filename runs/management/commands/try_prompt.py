"""`manage.py try_prompt main/gpt-4o "What is 17 + 25?"`: one call to a model of an endpoint."""

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from runs import formatting
from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand, add_person
from runs.reports.plain import plain_text
from runs.selectors.named_parts import find_endpoint
from runs.services.people.local_account import person_for_command
from runs.services.trying import Tried, try_prompt
from workers.engine.statistics.gates import Exit


class Command(SiteCommand):
    help = (
        "Sends one prompt to a model of an endpoint and shows the answer. It keeps to the limits "
        "of the endpoint; no cache answers it, and nothing is stored but a line in the audit table."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", help="as endpoint/model")
        parser.add_argument("prompt", help="what is asked; - reads it from the standard input")
        parser.add_argument(
            "--raw", action="store_true", help="show what went over the wire, without secrets"
        )
        add_person(parser)

    def handle(
        self, *args: Any, model: str, prompt: str, raw: bool, user: str | None, **options: Any
    ) -> None:
        person = person_for_command(user)
        name, slash, model_name = model.partition("/")
        endpoint = find_endpoint(name)
        if not slash or endpoint is None:
            raise bad_input(
                f"{model!r} is no model of an endpoint. Write endpoint/model, as in main/gpt-4o; "
                "the page Endpoints lists them."
            )
        text = sys.stdin.read() if prompt == "-" else prompt
        tried = try_prompt(person, endpoint, model_name, text)
        for exchange in tried.exchanges if raw else ():
            self.stdout.write(plain_text(f"{exchange.request}\n\n{exchange.response}\n"))
        if tried.problem:
            told = f"No answer. {tried.problem} {tried.advice}".strip()
            raise CommandError(told, returncode=Exit.TOO_MANY_ERRORS)
        self.stdout.write(plain_text(tried.answer))
        self.stderr.write(figures_of(tried))


def figures_of(tried: Tried) -> str:
    """Beside the answer, which can be piped on."""
    tokens = "tokens unknown"
    if tried.tokens_in is not None:
        tokens = f"{tried.tokens_in:,} tokens in, {tried.tokens_out or 0:,} out"
    cost = "cost unknown" if tried.cost is None else formatting.dollars(tried.cost)
    return f"{formatting.milliseconds(tried.latency_ms)}, {tokens}, {cost}"
