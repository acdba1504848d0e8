"""`make bars ARGS="--rows errors,wide"`: measures the rows, and ends with 1 if a bar is missed.

Nothing else should run on the machine meanwhile. All rows take about a quarter of an hour.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from runs.benchmarking.laboratory import running_laboratory
from runs.benchmarking.plan import Plan
from scripts.bars.rows import ROWS
from scripts.bars.stage import USUAL_TRIALS

MEASURING = (sys.executable, "-m", "scripts.bars.measuring")


def main() -> int:
    asked = read_arguments()
    parts = [measure(asked, workers, names) for workers, names in by_workers(asked).items()]
    rows = [row for part in parts for row in part["rows"]]
    if asked.out:
        report = {"conditions": parts[0]["conditions"], "rows": rows}
        asked.out.write_text(json.dumps(report, indent=2) + "\n")
    missed = [row["name"] for row in rows if not row["met"]]
    if missed:
        print(f"{len(missed)} of {len(rows)} rows are missed: {', '.join(missed)}.")
        return 1
    print(f"All {len(rows)} rows are met.")
    return 0


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bars", description=__doc__)
    parser.add_argument("--rows", default=",".join(ROWS), help="as a list; default: %(default)s")
    parser.add_argument("--trials", type=int, default=USUAL_TRIALS, help="of the usual rows")
    parser.add_argument("--workers", type=int, default=2, help="processes, where a row needs no 4")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated provider")
    parser.add_argument("--out", type=Path, help="also write what was measured into this file")
    asked = parser.parse_args()
    asked.rows = asked.rows.split(",")
    if unknown := [name for name in asked.rows if name not in ROWS]:
        parser.error(f"there is no {', '.join(unknown)}. Choose from: {', '.join(ROWS)}.")
    return asked


def by_workers(asked: argparse.Namespace) -> dict[int, list[str]]:
    """Rows that need more workers have a laboratory of their own: idle workers cost time, too."""
    rows: dict[int, list[str]] = defaultdict(list)
    for name in ROWS:
        if name in asked.rows:
            rows[max(asked.workers, ROWS[name].fewest_workers)].append(name)
    return rows


def measure(asked: argparse.Namespace, workers: int, names: list[str]) -> dict[str, Any]:
    """In a process of its own: Django knows one database, and every laboratory has another."""
    plan = Plan(trials=asked.trials, workers=workers, seed=asked.seed)
    with running_laboratory(plan) as laboratory:
        pids = laboratory.worker_pids
        order = {"plan": plan.as_document(), "worker_pids": pids, "rows": names}
        done = subprocess.run(
            MEASURING,
            input=json.dumps(order),
            env=laboratory.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    report: dict[str, Any] = json.loads(done.stdout)
    for row in report["rows"]:
        print(describe(row))
    return report


def describe(row: dict[str, Any]) -> str:
    lines = [f"{row['name']}: {row['title']}", row["conditions"]]
    lines += [
        f"{'met   ' if bar['met'] else 'MISSED'}  {bar['measured']}: {bar['shown']} ({bar['bar']})"
        for bar in row["bars"]
    ]
    how = f"{row['workers']} workers, load {row['load_before']:g} before, {row['seconds']:.0f} s"
    return "\n  ".join([*lines, how]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
