"""Rows of the fault matrix are tests with `pytest.mark.row(number, fault, bar)`. Those that are
`is_short` are a part of `make test`; `make faults` (--full) plays all, with large loads.

Rows of one shape share a site. A row is played to its end and then tells all that it found broken.
What was measured is written into docs/RELIABILITY.md, so that its table cannot be untrue.
"""

import json
import re
import secrets
import shutil
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evalsite.env import BASE_DIR
from tests.faults.stage import Stage, Waits
from tests.harness.postgres import PostgresServer
from tests.harness.site import SiteInParts

SEED = 7  # of the short tier
SHORT_LEASE_SECONDS = "6"  # of the short tier, which has no time to wait for the usual ones
HANG_SECONDS = "600"  # a worker that a row freezes is to go on after it
SMALL_DISK_MB = 96
SHAPES: dict[str, dict[str, Any]] = {
    "sqlite": {},
    "postgres": {},
    "small disk": {},
    "lossy": {"DJANGO_SETTINGS_MODULE": "tests.faults.lossy_settings"},
}
SOAK = "47"  # rows mixed at random
DOCUMENT = BASE_DIR / "docs" / "RELIABILITY.md"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
HEAD = """| row | fault | bar | held | measured | trials, missing, doubled | seed, day |
|---|---|---|---|---|---|---|"""
HIDDEN = ("trials", "missing", "doubled", "calls", "run_seconds")  # have a column, or say little


def pytest_addoption(parser):
    group = parser.getgroup("faults")
    group.addoption("--full", action="store_true", help="all rows, with large loads")
    group.addoption("--rows", default="", help="such as 1,4,13; all without it")
    group.addoption("--seed", type=int, help="decides every choice")
    group.addoption("--soak", type=float, default=0, help="seconds of rows mixed at random")
    group.addoption("--results", type=Path, help="keep the results of all rows in this file")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        if row := item.get_closest_marker("row"):
            tier = ["late"] if row.kwargs.get("is_short") else ["late", "alone", "long"]
            for name in tier:
                item.add_marker(name)
    left_out = {item for item in items if not is_wanted(item, config)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = sorted((item for item in items if item not in left_out), key=shape_of)


def is_wanted(item, config):
    """Ordinary tests are not ours to leave out."""
    if (row := item.get_closest_marker("row")) is None:
        return True
    number, soaks = row.args[0], bool(config.getoption("--soak", 0))
    if soaks or number == SOAK:
        return soaks and number == SOAK
    if named := config.getoption("--rows", ""):
        return number in named.split(",")
    return config.getoption("--full", False) or row.kwargs.get("is_short", False)


def shape_of(item):
    row = item.get_closest_marker("row")
    return row.kwargs.get("on", "sqlite") if row else ""


class House:
    """Keeps one site at a time: another shape replaces it."""

    def __init__(self, config):
        self.is_full = config.getoption("--full", False)
        if self.is_full:
            Waits.factor = 1
        given, drawn = config.getoption("--seed", None), secrets.randbelow(1_000_000)
        self.seed = given if given is not None else drawn if self.is_full else SEED
        self.site = self._disk = None
        self._shape = ""

    def site_for(self, shape):
        if self.site is None or self._shape != shape:
            self.close()
            options = {"EVALSITE_HANG_SECONDS": HANG_SECONDS, **SHAPES[shape]}
            if not self.is_full:
                options["EVALSITE_LEASE_SECONDS"] = SHORT_LEASE_SECONDS
            if shape == "postgres":
                options["postgres"] = PostgresServer(keeps_commits=True)
            if shape == "small disk":
                self._disk = mount_disk(SMALL_DISK_MB)
            self.site, self._shape = SiteInParts(self._disk, **options), shape
            self.hashes = {}  # of undisturbed runs on this site, by what was run
        return self.site

    def close(self):
        if self.site is not None:
            self.site.close()
        if self._disk is not None:
            subprocess.run(["umount", "--lazy", self._disk], check=True)
            shutil.rmtree(self._disk)
        self.site = self._disk = None


def mount_disk(megabytes):
    """A small disk in memory, which can be full without harm to anybody else."""
    folder = Path(tempfile.mkdtemp(prefix="evalsite-disk-"))
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs"]
    done = subprocess.run(["mount", *options, folder], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"A disk of its own needs the right to mount: {done.stderr.strip()}")
    return folder


@pytest.fixture(scope="package")
def house(pytestconfig):
    house = House(pytestconfig)
    yield house
    house.close()


@pytest.fixture
def stage(request, house):
    site = house.site_for(shape_of(request.node))
    return Stage(site, house.hashes, house.seed, is_full=house.is_full)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    stage = pyfuncitem.funcargs.get("stage")
    if stage is None:
        return (yield)
    began = time.monotonic()
    try:
        yield
    except Exception as problem:
        stage.violations.append(f"{type(problem).__name__}: {problem}")
        pyfuncitem.funcargs["house"].close()  # nobody knows what the row left behind
        raise AssertionError(stage.violations) from problem
    finally:
        tell(pyfuncitem, stage, time.monotonic() - began)
    assert stage.violations == [], stage.figures
    return True


def tell(item, stage, seconds):
    number, fault, bar = item.get_closest_marker("row").args
    result = {
        "row": number,
        "fault": fault,
        "bar": bar,
        "ok": not stage.violations,
        "seed": stage.seed,
        "tier": "full" if stage.is_full else "short",
        "seconds": round(seconds, 1),
        "figures": stage.figures,
        "violations": stage.violations,
    }
    print(json.dumps(result), flush=True)
    if path := item.config.getoption("--results", None):
        keep_result(path, result)


def pytest_sessionfinish(session):
    if path := session.config.getoption("--results", None):
        write_table(path)


def read_results(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return {result["row"]: result for result in map(json.loads, lines)}


def keep_result(path, result):
    """Replace what was known of the row."""
    known = read_results(path)
    known[result["row"]] = {"on": datetime.now(UTC).date().isoformat(), **result}
    path.write_text("".join(f"{json.dumps(known[name])}\n" for name in sorted(known, key=order)))


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
