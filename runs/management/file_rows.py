"""`dataset: {file: questions.csv}` in a configuration file: its rows, in place of its name."""

from pathlib import Path
from typing import Any

from runs.services.datasets.reading import Format, UnreadableError, guess_format, read_lines
from workers.engine.errors import ConfigurationError, Problem

FILE = "file"
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
MOST_TOLD = 5  # lines that are wrong


def put_rows(document: dict[str, Any], folder: Path) -> None:
    """A relative path is one beside the configuration. ConfigurationError says which lines are
    wrong."""
    chosen = document.get("dataset")
    if not isinstance(chosen, dict) or FILE not in chosen:
        return
    if "name" in chosen or "rows" in chosen:
        raise problem("Name a stored dataset, give rows, or name a file: one of the three.")
    if not isinstance(chosen[FILE], str):
        raise problem("Name a .csv, .json or .jsonl file, as in questions.csv.")
    kept = {name: value for name, value in chosen.items() if name != FILE}
    document["dataset"] = {"rows": read_rows(folder / chosen[FILE]), **kept}


def read_rows(path: Path) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    wrong: list[str] = []
    try:
        with path.open("rb") as source:
            format = FORMATS.get(path.suffix.lower()) or guess_format(source)
            for line in read_lines(source, format):
                if line.row is not None:
                    rows.append(line.row)
                elif len(wrong) < MOST_TOLD:
                    wrong.append(f"line {line.number}: {line.problem}")
    except OSError as error:
        raise problem(f"{path} cannot be read: {error.strerror}.") from None
    except UnreadableError as error:
        where = f"{path}, line {error.problem.line}"
        raise problem(f"{where}: {error.problem.message}") from None
    if wrong:
        raise problem(f"{path} has lines that are wrong. {' '.join(wrong)}")
    return rows


def problem(message: str) -> ConfigurationError:
    return ConfigurationError([Problem(f"dataset.{FILE}", message)])
