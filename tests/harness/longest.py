"""pytest plugin: notes how long each test took, set-up and all. `python -m tests.harness.longest`
then says what took longest in all parts of `make test`; `--forget` begins anew."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest

NOTES = Path(__file__).parents[2] / ".cache" / "durations.jsonl"
SHOWN = 20
spent: dict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    spent[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return  # who hands out the tests hears of all of them
    NOTES.parent.mkdir(exist_ok=True)
    with NOTES.open("a") as notes:
        notes.writelines(f"{json.dumps(pair)}\n" for pair in spent.items())


def main() -> None:
    if "--forget" in sys.argv:
        NOTES.unlink(missing_ok=True)
        return
    noted = [json.loads(line) for line in NOTES.read_text().splitlines()]
    by_folder: dict[str, float] = defaultdict(float)
    for name, seconds in noted:
        by_folder["/".join(name.split("/")[:2])] += seconds
    whole = sum(by_folder.values())
    print(f"What took longest of {len(noted)} tests, seconds of {whole:.0f} with others beside it:")
    for name, seconds in sorted(noted, key=lambda pair: -pair[1])[:SHOWN]:
        print(f"{seconds:7.1f}  {name}")
    folders = sorted(by_folder.items(), key=lambda pair: -pair[1])
    print(", ".join(f"{name} {seconds:.0f}" for name, seconds in folders if seconds >= 1))


if __name__ == "__main__":
    main()
