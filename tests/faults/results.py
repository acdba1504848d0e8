"""Writes what was measured into docs/RELIABILITY.md, so that the table cannot be untrue."""

import fcntl
import json
import re
from datetime import UTC, datetime

from evalsite.env import BASE_DIR

DOCUMENT = BASE_DIR / "docs" / "RELIABILITY.md"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
HEAD = """| row | fault | bar | held | measured | trials, missing, doubled | seed, day |
|---|---|---|---|---|---|---|"""
HIDDEN = ("trials", "missing", "doubled", "calls", "run_seconds")  # have a column, or say little


def read_results(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return {result["row"]: result for result in map(json.loads, lines)}


def keep_result(path, result):
    """Replace what was known of the row. Several may do so at once."""
    with (BASE_DIR / ".cache" / "faults.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = read_results(path)
        known[result["row"]] = {"on": datetime.now(UTC).date().isoformat(), **result}
        path.write_text(
            "".join(f"{json.dumps(known[name])}\n" for name in sorted(known, key=order))
        )


def order(name):
    """10b stands behind 10, and before 11."""
    return int(re.sub(r"\D", "", name)), name


def write_table(path):
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = "\n".join(map(table_row, read_results(path).values()))
    DOCUMENT.write_text(f"{before}{BEGIN}\n{HEAD}\n{rows}\n{END}{after}")


def table_row(result):
    figures = result["figures"]
    shown = [f"{n.replace('_', ' ')} {v:,}" for n, v in figures.items() if n not in HIDDEN]
    counts = [f"{figures[name]:,}" for name in HIDDEN[:3] if name in figures]
    held = "yes" if result["ok"] else f"**no**: {'; '.join(result['violations'])[:300]}"
    measured = f"{held} | {', '.join(shown)} | {', '.join(counts)}"
    what = f"{result['row']} | {result['fault']} | {result['bar']}"
    return f"| {what} | {measured} | {result['seed']}, {result['on']} |"
