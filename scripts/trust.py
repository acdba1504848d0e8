"""Runs the whole suite again and again in clean clones of the last commit: half of the times quiet,
half of them with two processes beside it that burn CPU. It stops at the first red one.

`make trust` does ten; `make trust ARGS="--quiet 2 --busy 1"` fewer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
BURN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"  # not for ever
BURNERS = 2
OF_MAKE = ("MAKE", "MFLAGS", "ARGS")


@contextmanager
def burning(processes: int) -> Iterator[None]:
    burners = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(processes)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def environment() -> dict[str, str]:
    """Without what `make` was told here: its ARGS are ours, not those of the tests."""
    return {name: text for name, text in os.environ.items() if not name.startswith(OF_MAKE)}


def is_green(number: int, burners: int, logs: Path) -> bool:
    """In a clone of its own, set-up included."""
    log = logs / f"{number}.txt"
    with tempfile.TemporaryDirectory(prefix="evalsite-trust-") as folder:
        clone = Path(folder) / "evalsite"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        began, spent = time.monotonic(), os.times()
        with burning(burners), log.open("wb") as output:
            done = subprocess.run(
                [clone / ".ci" / "run"],
                check=False,
                env=environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        minutes = (time.monotonic() - began) / 60
        now = os.times()
    cpu = now.children_user + now.children_system - spent.children_user - spent.children_system
    how = f"{burners} burning beside it" if burners else "quiet"
    end = "green" if done.returncode == 0 else f"RED, see {log}"
    print(f"{number:2}  {how}: {end}, {minutes:.1f} min, {cpu / 60:.1f} CPU min", flush=True)
    return done.returncode == 0


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--quiet", type=int, default=5, help="runs with nothing beside them")
    asked.add_argument("--busy", type=int, default=5, help="runs beside two burning processes")
    given = asked.parse_args()
    logs = ROOT / ".cache" / "trust"
    logs.mkdir(parents=True, exist_ok=True)
    loads = [0] * given.quiet + [BURNERS] * given.busy
    runs = (is_green(number, burners, logs) for number, burners in enumerate(loads, start=1))
    return 0 if all(runs) else 1


if __name__ == "__main__":
    sys.exit(main())
