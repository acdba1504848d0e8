"""`make faults` and `make soak`: plays rows, prints one JSON line each, keeps the table true."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from datetime import UTC, datetime
from itertools import groupby

from tests.faults.matrix import BY_NAME, ROWS
from tests.faults.matrix_row import Row
from tests.faults.playing import playhouse
from tests.faults.soaking import soak
from tests.faults.table import keep_results, write_table


def main() -> int:
    options = read_options()
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    print(json.dumps({"seed": seed, "began": datetime.now(UTC).isoformat(timespec="seconds")}))
    if options.soak:
        return soak(options.soak, seed)
    rows = [BY_NAME[name] for name in options.rows.split(",")] if options.rows else list(ROWS)
    is_good = play(rows, seed, is_full=not options.short)
    if not options.short:
        write_table()
    return 0 if is_good else 1


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rows", default="", help="such as 1,4,13; all without it")
    parser.add_argument("--seed", type=int, help="decides every choice; a new one without it")
    parser.add_argument("--short", action="store_true", help="the loads of `make test`")
    parser.add_argument("--soak", type=float, default=0, help="seconds of rows mixed at random")
    return parser.parse_args()


def play(rows: list[Row], seed: int, *, is_full: bool) -> bool:
    is_good = True
    rows = sorted(rows, key=lambda row: row.shape)  # sorts stay in order within a shape
    for _, alike in groupby(rows, key=lambda row: row.shape):
        with playhouse(is_full=is_full) as house:
            for row in alike:
                result = house.play(row, seed)
                print(json.dumps(result), flush=True)
                is_good = is_good and result["ok"]
                if is_full:
                    keep_results(result)
    return is_good


if __name__ == "__main__":
    sys.exit(main())
