"""The limits suite as text: what the command prints."""

from typing import Any

from runs.benchmarking.table import machine, table

COLUMNS: dict[str, Any] = {
    "row": lambda line: line["row"],
    "measured": lambda line: line["measured"],
    "bar": lambda line: line["bar"],
    "value": lambda line: line["shown"],
    "": lambda line: "met" if line["met"] else "MISSED",
}


def write_limits(report: dict[str, Any]) -> str:
    rows = report["results"]["rows"]
    lines = [line for row in rows for line in lines_of(row)]
    details = "\n".join(f"- {describe(row)}" for row in rows)
    blocks = [machine(report["conditions"]), table(COLUMNS, lines, texts=2), details]
    return "\n\n".join([*blocks, verdict(rows)])


def lines_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    if row["problem"]:
        missing = {"measured": "could not be measured", "bar": "", "shown": "", "met": False}
        return [{"row": row["name"], **missing}]
    return [{**bar, "row": "" if place else row["name"]} for place, bar in enumerate(row["bars"])]


def describe(row: dict[str, Any]) -> str:
    what = row["problem"] or row["conditions"]
    return (
        f"{row['name']}: {row['title']}. {what}; {row['workers']} worker processes,"
        f" load {row['load_before']:g} before, {row['seconds']:.0f} s"
    )


def verdict(rows: list[dict[str, Any]]) -> str:
    missed = [row["name"] for row in rows if not row["met"]]
    if not missed:
        return f"All {len(rows)} rows are met."
    return f"{len(missed)} of {len(rows)} rows are missed: {', '.join(missed)}."
