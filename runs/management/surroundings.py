"""What `init` finds in a folder and around it: rows to ask about, and models to ask."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.request import ProxyHandler, build_opener

from runs.management.file_rows import read_rows
from workers.engine.errors import ConfigurationError
from workers.engine.providers.known import KNOWN_PROVIDERS
from workers.engine.spec.expected import guess_expected

ROW_FILES = (".csv", ".tsv", ".jsonl", ".ndjson")
OLLAMA_PORT = 11434
ANSWER_WITHIN_SECONDS = 10.0  # where nobody listens, the answer comes at once
NUMBER = re.compile(r"\s*[-+]?[\d,]*\.?\d+\s*")
LOOKED_AT = 50  # rows, to see what kind of answers they have
SHORT_ANSWER = 60  # characters; longer ones are compared by their words
SIMULATED, SIMULATED_MODEL = "simulated", "sim-large"


class Rows(NamedTuple):
    """A file with rows, and its columns."""

    file: str
    columns: Sequence[str]
    expected: str  # empty: no column has a usual name
    scorer: str

    @property
    def asked(self) -> str:
        """The column that is put into the prompt: the first one that is neither number nor answer
        of the row."""
        others = [
            c for c in self.columns if c != self.expected and c.lower() not in ("id", "split")
        ]
        return (others or list(self.columns))[0]


class Found(NamedTuple):
    """An endpoint that can be used now."""

    name: str
    model: str
    base_url: str = ""  # empty: the one that is known by its name
    key_env: str = ""


def find_rows(folder: Path) -> Rows | None:
    """The first file that can be read, with an expected answer if there is one."""
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in ROW_FILES)
    found = [rows for path in paths if (rows := look_at(path))]
    return next((rows for rows in found if rows.expected), found[0] if found else None)


def look_at(path: Path) -> Rows | None:
    try:
        rows = read_rows(path)
    except ConfigurationError:
        return None
    columns = list(rows[0])
    expected = guess_expected(columns)
    answers = [row[expected] for row in rows[:LOOKED_AT]] if expected else []
    return Rows(path.name, columns, expected, scorer_for(answers))


def scorer_for(answers: Sequence[str]) -> str:
    if not answers:
        return ""
    if all(NUMBER.fullmatch(answer) for answer in answers):
        return "numeric"
    return "contains" if max(map(len, answers)) <= SHORT_ANSWER else "token_f1"


def find_endpoints(environ: Mapping[str, str] = os.environ) -> list[Found]:
    """An Ollama that runs, providers whose key is set, or else the simulated provider."""
    found = find_ollama(environ)
    found += [
        Found(name, known.first_model, key_env=known.key_env)
        for name, known in KNOWN_PROVIDERS.items()
        if known.key_env and environ.get(known.key_env)
    ]
    return found or [Found(SIMULATED, SIMULATED_MODEL)]


def find_ollama(environ: Mapping[str, str]) -> list[Found]:
    """With the first model that it has."""
    url = ollama_url(environ.get("OLLAMA_HOST", ""))
    opener = build_opener(ProxyHandler({}))  # never through a proxy of the machine
    try:
        with opener.open(f"{url}/api/tags", timeout=ANSWER_WITHIN_SECONDS) as answer:
            models = [str(one["name"]) for one in json.load(answer)["models"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    is_usual = url == ollama_url("")
    return [Found("ollama", models[0], "" if is_usual else url)] if models else []


def ollama_url(host: str) -> str:
    """OLLAMA_HOST as Ollama reads it: a host, with or without scheme and port."""
    scheme, _, place = host.strip().rstrip("/").rpartition("://")
    name, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
    named = "127.0.0.1" if name in ("", "0.0.0.0") else name
    return f"{scheme or 'http'}://{named}:{port or OLLAMA_PORT}"
