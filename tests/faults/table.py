"""Writes what was measured into docs/RELIABILITY.md, so that the table cannot be untrue."""

from __future__ import annotations

import fcntl
import json
from datetime import UTC, datetime
from typing import Any

from evalsite.env import BASE_DIR
from tests.faults.matrix import BY_NAME, ROWS

DOCUMENT = BASE_DIR / "docs" / "RELIABILITY.md"
RESULTS = BASE_DIR / "docs" / "reliability.jsonl"  # the last full result of every row
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
HIDDEN = ("trials", "missing", "doubled", "calls", "run_seconds")  # have a column, or say little


def keep_results(result: dict[str, Any]) -> None:
    """Replace what was known of the row. Several may do so at once."""
    with (BASE_DIR / ".cache" / "faults.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = read_results()
        known[result["row"]] = {"on": datetime.now(UTC).date().isoformat(), **result}
        lines = [json.dumps(known[name]) for name in BY_NAME if name in known]
        RESULTS.write_text("\n".join(lines) + "\n")


def read_results() -> dict[str, dict[str, Any]]:
    if not RESULTS.exists():
        return {}
    results = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {result["row"]: result for result in results}


def write_table() -> None:
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{make_table()}\n{END}{after}")


def make_table() -> str:
    known = read_results()
    lines = [
        "| row | fault | bar | held | measured | trials, missing, doubled | seed, day |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        result = known.get(row.name)
        measured = cells(result) if result else "not yet | | | "
        lines.append(f"| {row.name} | {row.fault} | {row.bar} | {measured} |")
    return "\n".join(lines)


def cells(result: dict[str, Any]) -> str:
    figures = result["figures"]
    shown = [
        f"{name.replace('_', ' ')} {value:,}"
        for name, value in figures.items()
        if name not in HIDDEN
    ]
    counts = [f"{figures[name]:,}" for name in HIDDEN[:3] if name in figures]
    held = "yes" if result["ok"] else f"**no**: {'; '.join(result['violations'])[:300]}"
    place = f"{result['seed']}, {result['on']}"
    return f"{held} | {', '.join(shown)} | {', '.join(counts)} | {place}"
