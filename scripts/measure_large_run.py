"""How long the pages of a run with 100,000 trials take to begin, and how large they are.

Starts a site of its own, stores runs of several shapes in it, and opens each page 40 times, one
after the other: `.venv/bin/python scripts/measure_large_run.py`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.own_site import OwnSite

SHAPES = ((100, 1000, 1), (20, 1000, 5), (4, 25_000, 1))  # candidates, cases, repeats
TIMES = 40
FILL = """
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from tests.runs.large_runs import make_large_run
owner = User.objects.get(username="service")
for candidates, cases, repeats in {shapes}:
    run = make_large_run(owner, candidates=candidates, cases=cases, repeats=repeats)
    print("RUN", run.pk)
client = Client()
client.force_login(owner)
name = settings.SESSION_COOKIE_NAME
print("COOKIE", name + "=" + client.cookies[name].value)
"""
PAGES = {
    "overview": "",
    "scores": "scores/",
    "scores, each try": "scores/?each=1",
    "scores, last page": "scores/?sort=-position&before=0~0",
    "scores, by score": "scores/?sort=score",
    "scores, one case": "scores/?case=17",
    "errors": "errors/",
    "events": "events/",
    "configuration": "configuration/",
    "leaderboard, while live": "leaderboard/",
    "heatmap (gzip)": "heatmap/",
    "other pictures": "pictures/",
}


class Figure(NamedTuple):
    first_ms: float
    median_ms: float
    p95_ms: float
    size: int

    def __str__(self) -> str:
        later = f"then median {self.median_ms:5.0f} ms, p95 {self.p95_ms:5.0f} ms"
        return f"first {self.first_ms:6.0f} ms, {later}, {self.size / 1000:6.1f} kB"


def fill(site: OwnSite) -> tuple[list[int], str]:
    """The numbers of the runs, and the cookie of somebody who may see them."""
    told = site.manage("shell", "-c", FILL.format(shapes=SHAPES))
    lines = [line.split(maxsplit=1) for line in told.splitlines() if line]
    runs = [int(line[1]) for line in lines if line[0] == "RUN"]
    return runs, next(line[1] for line in lines if line[0] == "COOKIE")


def measure(address: str, cookie: str) -> Figure:
    """The first time alone: nothing is kept yet of what is drawn from all scores."""
    took, size = [], 0
    for _ in range(TIMES):
        asked = Request(address, headers={"Cookie": cookie, "Accept-Encoding": "gzip"})
        started = time.perf_counter()
        with urlopen(asked, timeout=60) as answer:
            answer.read(1)
            took.append(1000 * (time.perf_counter() - started))
            size = 1 + len(answer.read())
    later = sorted(took[1:])
    return Figure(took[0], later[len(later) // 2], later[int(0.95 * len(later))], size)


def main() -> None:
    with OwnSite() as site:
        runs, cookie = fill(site)
        for run, shape in zip(runs, SHAPES, strict=True):
            print("\n{} candidates x {} cases x {} repeats".format(*shape))
            for name, path in PAGES.items():
                found = measure(f"{site.url}/runs/{run}/{path}", cookie)
                print(f"{name:>24}: {found}", flush=True)


if __name__ == "__main__":
    main()
