"""Sends all poisons (scripts/poisons.py) to a site of its own with two workers, one after the
other, and says how it bore them: a line for each, at the end what was worst.

`python scripts/attack.py --only schema` sends those whose name begins so. It ends with 1 if
/healthz was silent for longer than half a second beyond quiet, a worker was lost, or memory stays.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.own_site import OwnSite  # noqa: E402
from scripts.poisons import Poison, evaluation, poisons, selection  # noqa: E402
from tests.harness.patience import wait_until  # noqa: E402

QUIET_SECONDS = 5.0
BEAT_SECONDS = 0.02
LONGEST_SECONDS = 120.0
MOST_SILENCE = 0.5  # seconds beyond quiet
MOST_KEPT = 50.0  # megabytes that stay of web and workers, each
WORKERS = 2
BOUNDARY = "a-boundary-that-no-poison-has"


class Pulse:
    """Asks /healthz all the time, and remembers how long it waited at most."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/healthz"
        self._longest = 0.0
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        while True:
            began = time.monotonic()
            try:
                urllib.request.urlopen(self._url, timeout=LONGEST_SECONDS).close()
            except OSError:
                self._longest = LONGEST_SECONDS
            self._longest = max(self._longest, time.monotonic() - began)
            time.sleep(BEAT_SECONDS)

    def longest(self) -> float:
        """Since it was asked last."""
        found, self._longest = self._longest, 0.0
        return found


class Borne(NamedTuple):
    silence: float
    seconds: float
    status: int
    told: str


@contextmanager
def poisoned(site: OwnSite, poison: Poison) -> Iterator[None]:
    """With what the model answers."""
    order = {"do": "answer", "answer": poison.answer, "times": None}
    site.simulator.play(*([order] if poison.answer else []))
    yield
    site.simulator.play()


def body_of(poison: Poison) -> tuple[bytes, str]:
    """With its type."""
    if poison.yaml:
        return poison.yaml.encode(), "application/yaml"
    if not poison.file:
        return json.dumps(poison.body).encode(), "application/json"
    parts = {'"name"': "poison", f'"file"; filename="{poison.file}"': poison.body["file"]}
    written = [
        f"--{BOUNDARY}\r\nContent-Disposition: form-data; name={name}\r\n\r\n{text}\r\n"
        for name, text in parts.items()
    ]
    text = f"{''.join(written)}--{BOUNDARY}--\r\n"
    return text.encode(), f"multipart/form-data; boundary={BOUNDARY}"


def send(site: OwnSite, poison: Poison, pulse: Pulse) -> Borne:
    began = time.monotonic()
    pulse.longest()
    status, told = 200, ""
    with poisoned(site, poison):
        try:
            answer = site.ask(poison.method, poison.route, *body_of(poison))
            if poison.route == "/runs":
                told = watch(site, answer["id"])
        except urllib.error.HTTPError as error:
            status, told = error.code, json.loads(error.read())["detail"]
    return Borne(pulse.longest(), time.monotonic() - began, status, told)


def watch(site: OwnSite, run: int) -> str:
    """To its end; one that only fails pauses first."""

    def is_over() -> bool:
        found = site.get(f"/runs/{run}")
        return found["ended"] is not None or found["state"] == "paused"

    wait_until(is_over)
    found = site.get(f"/runs/{run}")
    if found["ended"] is None:
        site.post(f"/runs/{run}/cancel", {})
    return f"{found['state']}, {found['counts']['done']} done, {found['counts']['failed']} failed"


def warm_up(site: OwnSite) -> None:
    """What the first runs of a process load stays, whoever sends them."""
    for document in (evaluation(), selection((2, 2))):
        site.post("/runs/estimate", {"configuration": document})
        for _ in range(WORKERS):
            watch(site, site.post("/runs", {"configuration": document})["id"])


def memory_of(site: OwnSite) -> dict[int, float]:
    """Megabytes of each process that works for people."""
    return {
        pid: next(
            int(line.split()[1]) / 1024
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if line.startswith("VmRSS")
        )
        for pid, task in site.children().items()
        if task in ("web", "worker")
    }


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--only", default="", help="poisons whose name begins so")
    chosen = [one for one in poisons() if one.name.startswith(asked.parse_args().only)]
    with OwnSite(WORKERS) as site:
        warm_up(site)
        pulse = Pulse(site.url)
        time.sleep(QUIET_SECONDS)
        quiet, before = pulse.longest(), memory_of(site)
        worst = 0.0
        for poison in chosen:
            borne = send(site, poison, pulse)
            worst = max(worst, borne.silence)
            print(
                f"{borne.silence:6.2f} s silent {borne.seconds:6.2f} s {borne.status} "
                f"{poison.name}: {borne.told[:90]}",
                flush=True,
            )
        time.sleep(QUIET_SECONDS)
        after = memory_of(site)
    lost = before.keys() - after.keys()
    kept = max((after[pid] - before[pid] for pid in before.keys() & after.keys()), default=0.0)
    print(
        f"{len(chosen)} poisons. Longest silence {worst:.2f} s, quiet {quiet:.2f} s; "
        f"{len(lost)} processes lost; at most {kept:.0f} MB stay in one."
    )
    return int(worst > quiet + MOST_SILENCE or bool(lost) or kept > MOST_KEPT)


if __name__ == "__main__":
    sys.exit(main())
