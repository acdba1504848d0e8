"""How figures of rollouts are measured and told: in turn, the best of several, with their bars."""

import asyncio
import os
import resource
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from runs.benchmarking.process_times import ProcessGone
from runs.benchmarking.process_times import cpu_seconds as process_seconds
from workers.engine.here import run_here
from workers.engine.kinds import read_configuration
from workers.engine.records import Case, Score

TIMES = 2
LOOK_SECONDS = 0.05


class Took(NamedTuple):
    """Of one piece of work: by the clock, and by the processor over all of its processes."""

    seconds: float
    cpu_seconds: float


class Bar(NamedTuple):
    """What a figure is to be: at least, or at most."""

    value: float
    is_most: bool = False
    unit: str = "times"

    def told(self, found: float) -> str:
        is_met = found <= self.value if self.is_most else found >= self.value
        sign, verdict = "<=" if self.is_most else ">=", "met" if is_met else "MISSED"
        return f"{found:8.2f} {self.unit:9} bar {sign} {self.value:g}: {verdict}"


def tell(figure: str, found: float, bar: Bar, *, by: str = "clock") -> None:
    load = f"load {os.getloadavg()[0]:.0f}"
    print(f"{figure:66} {by:6} {bar.told(found)}  ({load})", flush=True)


def note(figure: str, took: Took) -> None:
    print(f"    {figure:62} {took.seconds:8.2f} s, {took.cpu_seconds:8.2f} s of CPU", flush=True)


def timed(work: Callable[[], Any]) -> Took:
    """Processes count when they have ended."""
    started, before = time.perf_counter(), cpu_seconds()
    work()
    return Took(time.perf_counter() - started, cpu_seconds() - before)


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def best_of(works: Mapping[str, Callable[[], Any]], times: int = TIMES) -> dict[str, Took]:
    """In turn: a machine that is busy with something else makes all of them slower."""
    found = {name: Took(float("inf"), float("inf")) for name in works}
    for _ in range(times):
        for name, work in works.items():
            took = timed(work)
            found[name] = Took(*map(min, found[name], took))
    for name, took in found.items():
        note(name, took)
    return found


def longest_process(work: Callable[[], Any]) -> float:
    """Seconds of the processor of the child that computed longest: what the work would take where
    every child has a core of its own, whatever else this machine does."""
    seen: dict[int, float] = {}
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(LOOK_SECONDS):
            for pid in children_of(os.getpid()):
                with suppress(ProcessGone):
                    seen[pid] = process_seconds([pid]) or 0.0

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        is_over.set()
        watcher.join()
    return max(seen.values())


def children_of(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has ended
            found += [int(child) for child in task.read_text().split()]
    return found


class Runs:
    """Whole runs in this process, with processes of their own, which start with them. All of them
    must come to the same."""

    def __init__(self, documents: Mapping[str, dict[str, Any]]) -> None:
        self._documents = documents
        self._results: list[list[Any]] = []

    def works(self) -> dict[str, Callable[[], None]]:
        return {name: partial(self._play, name) for name in self._documents}

    def _play(self, name: str) -> None:
        scores = asyncio.run(played(self._documents[name]))
        assert not any(score.error for score in scores), scores[0].message
        found = [[score.value, orjson.loads(score.answer)["digest"]] for score in scores]
        self._results.append(found)
        assert found == self._results[0], f"{name} came to other results"


async def played(document: dict[str, Any]) -> list[Score]:
    configuration = read_configuration(document)
    cases = [Case(n, case) for n, case in enumerate(configuration.make_cases() or [])]
    return await run_here(configuration, cases, {})
