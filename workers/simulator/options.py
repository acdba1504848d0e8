"""The command line of the simulated provider: one option per setting, made from their record."""

import argparse
from dataclasses import fields
from typing import Any

from workers.simulator.settings import Settings


def add_options(parser: argparse.ArgumentParser) -> None:
    for declared in fields(Settings):
        default = "none" if declared.default is None else declared.default
        parser.add_argument(
            f"--{declared.name.replace('_', '-')}",
            type=_reader(declared.metadata["kind"]),
            default=declared.default,
            help=f"{declared.metadata['help']} (default: {default})",
        )


def settings_from(options: dict[str, Any]) -> Settings:
    """The settings among a command's parsed options."""
    return Settings(**{declared.name: options[declared.name] for declared in fields(Settings)})


def read_factors(text: str) -> dict[str, float]:
    """Reads `sim-small=1,sim-large=2.5`."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    try:
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of factors such as sim-small=1,sim-large=2.5"
        ) from None


def _reader(kind: type) -> Any:
    return read_factors if kind is dict else kind
