"""A benchmark as text: what the command prints."""

from collections.abc import Sequence
from typing import Any

from runs.formatting import NOTHING


def write_report(report: dict[str, Any]) -> str:
    conditions, results = report["conditions"], report["results"]
    blocks = [headline(conditions), machine(conditions)]
    blocks.append("Sequential against parallel\n" + table(CURVE, results["curve"]))
    if results.get("cache"):
        blocks.append("Cold against warm cache\n" + table(compared_with("cold"), results["cache"]))
    if results.get("schedule"):
        same = "same" if results["same_results"] else "DIFFERENT"
        title = f"Two-level against work-conserving ({same} results)"
        blocks.append(f"{title}\n{table(compared_with('two-level'), results['schedule'])}")
    if "dollars" in results:
        blocks.append(f"Spent: ${results['dollars']:.4f}")
    blocks.append("\n".join(f"- {note}" for note in results["notes"]))
    return "\n\n".join(blocks)


def headline(conditions: dict[str, Any]) -> str:
    latency = f", {conditions['latency_ms']:g} ms" if conditions["latency_ms"] else ""
    jitter = f" ± {conditions['jitter']:.0%}" if conditions["jitter"] else ""
    return (
        f"{conditions['provider']}{latency}{jitter}: {conditions['trials']:,} trials,"
        f" {conditions['workers']} worker processes. {spread_in_words(conditions['repeats'])}"
    )


def spread_in_words(repeats: int) -> str:
    if repeats == 1:
        return "Measured once: there is no spread to judge by."
    return f"Medians of {repeats} repeats, [min – max]."


def machine(conditions: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in conditions["packages"].items())
    return (
        f"{conditions['at']}, evalsite {conditions['code_version']}, seed {conditions['seed']}\n"
        f"{conditions['cores']} cores ({conditions['machine']}), load"
        f" {conditions['load_before']:g} before, {conditions['load_after']:g} after;"
        f" Python {conditions['python']}, {conditions['database']}, {conditions['redis']}\n"
        f"{packages}"
    )


def table(columns: dict[str, Any], points: Sequence[dict[str, Any]]) -> str:
    """Labels, then numbers to the right."""
    rows = [list(columns), *([write(item) for write in columns.values()] for item in points)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def spread(name: str, decimals: int = 2) -> Any:
    """The median, with the range where there is one."""

    def write(item: dict[str, Any]) -> str:
        found = item.get(name)
        if found is None:
            return NOTHING
        middle = f"{found['median']:,.{decimals}f}"
        if item["repeats"] == 1:
            return middle
        return f"{middle} [{found['min']:,.{decimals}f} – {found['max']:,.{decimals}f}]"

    return write


def number(name: str, pattern: str = ",") -> Any:
    return lambda item: NOTHING if item[name] is None else format(item[name], pattern)


POINT: dict[str, Any] = {
    "": lambda item: item["label"],
    "n": number("n"),
    "wall s": spread("wall_seconds"),
    "ideal s": number("ideal_seconds", ",.2f"),
    "wall/ideal": spread("ratio", 3),
    "trials/s": spread("trials_per_second", 1),
}
TRAFFIC: dict[str, Any] = {
    "CPU s/1000": spread("cpu_seconds_per_1000"),
    "peak": number("peak_in_flight"),
    "calls/trials": lambda item: f"{item['calls']:,}/{item['trials']:,}",
    "429": number("refused"),
    "failed": number("failed"),
}
CURVE: dict[str, Any] = {
    **POINT,
    "speed-up": spread("speedup", 1),
    "ideal": number("ideal_speedup", ".0f"),
    "ceiling": number("ceiling", ".1f"),
    **TRAFFIC,
}


def compared_with(base: str) -> dict[str, Any]:
    return {**POINT, f"times {base}": spread("gain"), **TRAFFIC}
