"""Options of commands that say which rows of the dataset to run on, over what the document says."""

from argparse import ArgumentParser
from typing import Any

from workers.engine.errors import ConfigurationError, Problem


def add_slice(parser: ArgumentParser) -> None:
    rows = parser.add_argument_group("which rows of the dataset")
    rows.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="only rows with this value, with another one (COLUMN!=VALUE), with a tag "
        "(COLUMN~=TAG) or without it (COLUMN!~=TAG); several of one column: any of them",
    )
    rows.add_argument(
        "--split",
        metavar="PART",
        help="only one part of the rows: train, test, or a value of the dataset's split column",
    )
    rows.add_argument("--sample", type=int, metavar="N", help="only so many rows, drawn by a seed")
    rows.add_argument(
        "--sample-seed", type=int, metavar="SEED", help="draws the sample; else the run's seed does"
    )
    rows.add_argument("--first", type=int, metavar="N", help="only the first so many rows")


def put_slice(document: dict[str, Any], options: dict[str, Any]) -> None:
    """What is given takes the place of the same field in the document."""
    given = {
        "where": read_where(options["where"]),
        "split": options["split"],
        "sample": options["sample"],
        "seed": options["sample_seed"],
        "first": options["first"],
    }
    part = {name: value for name, value in given.items() if value is not None}
    if not part:
        return
    dataset = document.get("dataset")
    named = dataset if isinstance(dataset, dict) else {} if dataset is None else {"name": dataset}
    document["dataset"] = {**named, **part}


VERBS = {"!~": "lacks", "~": "has", "!": "not"}  # the longest mark first


def read_where(given: list[str]) -> dict[str, Any] | None:
    if not given:
        return None
    found: dict[str, dict[str, list[str]]] = {}
    for condition in given:
        named, equals, value = condition.partition("=")
        mark = next((mark for mark in VERBS if named.endswith(mark)), "")
        column = named.removesuffix(mark)
        if not equals or not column:
            told = f"--where {condition}: write COLUMN=VALUE, as in subject=algebra."
            raise ConfigurationError([Problem("", told)])
        found.setdefault(column, {}).setdefault(VERBS.get(mark, ""), []).append(value)
    if both := [column for column, verbs in found.items() if len(verbs) > 1]:
        told = f"--where {min(both)}: give either values with = or values with !=, not both."
        raise ConfigurationError([Problem("", told)])
    return {column: verbs.get("", verbs) for column, verbs in found.items()}
