"""Transitions out of the records of segments: some to look at, or all of them as files."""

import csv
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import zip_longest
from typing import Any, NamedTuple

import orjson

from runs.kinds.base import NoFileError
from runs.kinds.mutate.standing import mutation_of
from runs.models import Run, ScoreRecord
from runs.word_diff import WordDiff, diff_words
from workers.engine.json_text import to_json
from workers.engine.kinds.mutate.training import HELD_OUT
from workers.engine.records import EVALUATE
from workers.engine.spreadsheets import guard

MOST_SEGMENTS = 8  # whose records are read for a page
MOST_SHOWN = 12
MOST_IN_A_FILE = 200_000  # transitions; a file is made in memory
COLUMNS = (
    *("update", "policy", "environment", "case", "position", "step", "operator", "probability"),
    *("query", "rewritten", "answer", "value", "reward", "success", "ends"),
    *("excluded_role", "excluded_class", "excluded_message"),
)
Row = dict[str, Any]


class Shown(NamedTuple):
    """A transition on the page."""

    row: Row
    diff: WordDiff | None  # None: nothing was rewritten

    @property
    def is_excluded(self) -> bool:
        return bool(self.row["excluded_role"])


class Part(NamedTuple):
    """Which transitions: of an update, or of the comparison on held-out queries."""

    update: int
    is_held_out: bool


def sample(run: Run, part: Part, show: str) -> list[Shown]:
    """Of some segments, step by step, each rewrite of a query once."""
    records = run_records(run).filter(score__candidate__in=policies_in(run, part))
    segments = [list(rows_in(*one)) for one in records[:MOST_SEGMENTS]]
    found: dict[tuple[Any, ...], Row] = {}
    for rows in zip_longest(*segments):
        for row in rows:
            if row is not None and is_wanted(row, show):
                found.setdefault((row["query"], row["operator"], row["rewritten"]), row)
    return [shown(row) for row in list(found.values())[:MOST_SHOWN]]


def policies_in(run: Run, part: Part) -> list[int]:
    """One, or none. The policies of updates follow each other; of those that were compared, the
    trained one was born first."""
    role, place = (HELD_OUT, 0) if part.is_held_out else (EVALUATE, part.update - 1)
    born = run.candidates.filter(role=role).order_by("position").values_list("pk", flat=True)
    return list(born[place : place + 1])


def is_wanted(row: Row, show: str) -> bool:
    if show == "excluded":
        return bool(row["excluded_role"])
    return show != "successes" or row["success"]


def shown(row: Row) -> Shown:
    return Shown(row, diff_words(row["query"], row["rewritten"]) if row["rewritten"] else None)


def run_records(run: Run) -> Any:
    """Position, case and policy of a segment, with its packed record."""
    rows = ScoreRecord.objects.filter(run=run).order_by("score__position")
    names = ("position", "case__position", "candidate__name", "candidate__role")
    return rows.values_list(*(f"score__{name}" for name in names), "packed")


def rows_in(position: int, case: int, name: str, role: str, packed: bytes) -> Iterator[Row]:
    document = orjson.loads(zlib.decompress(packed))
    texts = document["texts"]
    for one in document["transitions"]:
        excluded = one["excluded"] or ("", "", "")
        yield {
            "update": document["update"],
            "policy": name if role == HELD_OUT else "",
            "environment": document["environment"],
            "case": case,
            "position": position,
            **{key: one[key] for key in ("step", "operator", "probability", "answer")},
            **{key: one[key] for key in ("value", "reward", "success", "ends")},
            "query": text_at(texts, one["query"]),
            "rewritten": text_at(texts, one["rewritten"]),
            **dict(zip(COLUMNS[-3:], excluded, strict=True)),
        }


def text_at(texts: Sequence[str], place: int | None) -> str:
    return "" if place is None else texts[place]


def every_row(run: Run) -> Iterator[Row]:
    count = mutation_of(run).report.transitions
    if count > MOST_IN_A_FILE:
        raise NoFileError(
            f"{count:,} transitions are too many for one file. Take the scores as JSON lines, with "
            "their records: those have them all."
        )
    for one in run_records(run).iterator(chunk_size=200):
        yield from rows_in(*one)


def write_jsonl(run: Run) -> str:
    return "".join(f"{to_json(ordered(row)).decode()}\n" for row in every_row(run))


def write_csv(run: Run) -> str:
    file = StringIO()
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    writer.writerows(
        {name: guard(cell) for name, cell in ordered(row).items()} for row in every_row(run)
    )
    return file.getvalue()


def ordered(row: Mapping[str, Any]) -> Row:
    return {name: row[name] for name in COLUMNS}
