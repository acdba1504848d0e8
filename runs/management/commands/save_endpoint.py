"""`manage.py save_endpoint NAME`: makes or changes an endpoint, as a CI job needs it."""

import os
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from runs.management.refusals import bad_input
from runs.management.site_command import SiteCommand, add_person
from runs.models import Endpoint, EndpointKind
from runs.selectors.named_parts import find_endpoint
from runs.services.endpoints import ConnectionReport, find_models, save_endpoint
from runs.services.known_providers import fill_in
from runs.services.people.local_account import person_for_command
from workers.engine.providers.known import KNOWN_PROVIDERS

OPTIONS = {"new_key": "--key-env", "new_headers": "--header-env", "new_proxy": "--proxy"}
FIELDS = ("kind", "base_url", "max_concurrent", "requests_per_minute", "tokens_per_minute")


def add_network(parser: CommandParser) -> None:
    parser.add_argument(
        "--header-env",
        action="append",
        metavar="NAME=VARIABLE",
        help="header to send with every call, and the environment variable that holds its "
        "value; any number of times, and all at once",
    )
    parser.add_argument(
        "--proxy",
        metavar="URL",
        help="http:// or socks5:// with host and port; direct: none; empty: that of the site",
    )
    parser.add_argument(
        "--proxy-env", metavar="VARIABLE", help="environment variable with such a URL"
    )
    parser.add_argument(
        "--ca-bundle", metavar="FILE", help="certificates in PEM that its servers are signed by"
    )


class Command(SiteCommand):
    help = "Makes an endpoint, or changes an existing one. What is not given stays as it is."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--provider",
            choices=list(KNOWN_PROVIDERS),
            help="fills in the kind, base URL and limits that are not given",
        )
        parser.add_argument(
            "--kind", choices=EndpointKind.values, help="needed for a new endpoint, or a provider"
        )
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="what its kind can be told besides, as in api_version=2024-10-21 for azure",
        )
        parser.add_argument(
            "--base-url",
            metavar="URL",
            help="address up to the version, as in https://api.openai.com/v1",
        )
        parser.add_argument(
            "--private-addresses",
            metavar="A,B",
            help="of its addresses those in a private network that it may call, as localhost:11434",
        )
        parser.add_argument(
            "--key-env", metavar="VARIABLE", help="environment variable that holds the API key"
        )
        add_network(parser)
        parser.add_argument("--models", metavar="A,B", help="models to offer on the new-run page")
        parser.add_argument(
            "--find-models",
            action="store_true",
            help="afterwards, print the models that the server lists, one a line",
        )
        parser.add_argument("--max-concurrent", type=int, metavar="N", help="calls at once")
        parser.add_argument("--requests-per-minute", type=int, metavar="N")
        parser.add_argument("--tokens-per-minute", type=int, metavar="N")
        parser.add_argument(
            "--price",
            action="append",
            default=[],
            metavar="MODEL=IN,OUT",
            help="dollars per million tokens; any number of times",
        )
        add_person(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        person = person_for_command(options["user"])
        endpoint = find_endpoint(options["name"]) or Endpoint(name=options["name"])
        try:
            change(endpoint, options)
            save_endpoint(
                person,
                endpoint,
                read_variable("--key-env", options["key_env"]),
                new_headers=read_headers(options["header_env"]),
                new_proxy=read_variable("--proxy-env", options["proxy_env"]) or options["proxy"],
            )
        except ValidationError as error:
            raise bad_input("\n".join(map(field_text, error.message_dict.items()))) from None
        self.stdout.write(f"{endpoint.name} ({endpoint.get_kind_display()}).")
        if listed := endpoint.prices_from_list:
            told = f"Prices from the list of {endpoint.price_list_date}: {', '.join(listed)}."
            self.stdout.write(told)
        if options["find_models"]:
            self.print_models(find_models(person, endpoint))

    def print_models(self, report: ConnectionReport) -> None:
        if not report.ok:
            raise bad_input(f"{report.message} {report.advice}".strip())
        for name in report.models:
            self.stdout.write(name)


def change(endpoint: Endpoint, options: dict[str, Any]) -> None:
    if options["provider"]:
        given = [name for name in FIELDS if options[name] is not None]
        fill_in(endpoint, options["provider"], given)
    for name in FIELDS:
        if options[name] is not None:
            setattr(endpoint, name, options[name])
    if options["ca_bundle"] is not None:
        endpoint.ca_bundle = read_file(options["ca_bundle"])
    if options["models"] is not None:
        endpoint.model_names = [name for name in options["models"].split(",") if name]
    if options["private_addresses"] is not None:
        named = options["private_addresses"].split(",")
        endpoint.private_addresses = [place for place in named if place]
    endpoint.options = {**endpoint.options, **dict(map(read_option, options["option"]))}
    endpoint.prices = {**endpoint.prices, **dict(map(read_price, options["price"]))}


def read_option(text: str) -> tuple[str, str]:
    name, is_given, value = text.partition("=")
    if not is_given:
        raise bad_input(f"--option {text}: write NAME=VALUE, as in api_version=2024-10-21.")
    return name, value


def read_price(text: str) -> tuple[str, dict[str, float]]:
    model, _, prices = text.rpartition("=")
    try:
        cost_in, cost_out = (float(number) for number in prices.split(","))
    except ValueError:
        raise bad_input(f"--price {text}: write MODEL=IN,OUT, as in gpt-x=2.5,10.") from None
    return model, {"input": cost_in, "output": cost_out}


def read_variable(option: str, variable: str | None) -> str | None:
    """None keeps what is stored. Never an argument: every process could read it."""
    if variable is None:
        return None
    secret = os.environ.get(variable, "")
    if not secret:
        raise bad_input(f"{option} {variable}: there is no such variable, or it is empty.")
    return secret


def read_headers(texts: list[str] | None) -> dict[str, str] | None:
    if texts is None:
        return None
    headers = {}
    for text in texts:
        name, _, variable = text.partition("=")
        headers[name] = read_variable("--header-env", variable) or ""
    return headers


def read_file(path: str) -> str:
    try:
        return Path(path).read_text() if path else ""
    except (OSError, UnicodeDecodeError):
        raise bad_input(f"--ca-bundle {path}: there is no such file of text.") from None


def field_text(problem: tuple[str, list[str]]) -> str:
    field, messages = problem
    name = OPTIONS.get(field, f"--{field.replace('_', '-')}")
    return f"{name}: {' '.join(messages)}"
