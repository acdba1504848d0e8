"""What is wrong with the whole installation, and what to do about it. Nothing: no word."""

import math
import shutil
import time
from typing import NamedTuple

from django.conf import settings
from django.urls import reverse

from runs.models import Endpoint
from runs.selectors.endpoints.permit_state import read_permits
from runs.selectors.system.maintenance import current_maintenance
from runs.selectors.system.stores import read_waiting
from runs.selectors.worker_beats import count_workers, is_storage_full

REMEMBERED_SECONDS = 3.0  # pages show it; several pages a second need not ask anew
MOST_NAMED = 3
MEGABYTE = 1_000_000
SCARCE_BYTES, FULL_BYTES = 100 * MEGABYTE, 1 * MEGABYTE  # left on the disk
STARTING_SECONDS = 10.0  # workers that are started together with this process come up later
NOBODY_WORKS = "No worker is running"
NO_WORKER = f"{NOBODY_WORKS}: start one with manage.py work"


class Trouble(NamedTuple):
    what: str
    advice: str
    address: str = ""  # of the page that tells more


# When it was found, and what. A site that just started finds nothing until its workers are up.
_remembered: tuple[float, list[Trouble]] = (time.monotonic() + STARTING_SECONDS, [])


def recent_troubles() -> list[Trouble]:
    """As of a few seconds ago at most."""
    global _remembered
    if time.monotonic() - _remembered[0] > REMEMBERED_SECONDS:
        _remembered = (time.monotonic(), find_troubles())
    return _remembered[1]


def forget_troubles() -> None:
    global _remembered
    _remembered = (-math.inf, [])


def find_troubles() -> list[Trouble]:
    return [*maintenance_troubles(), *storage_troubles(), *service_troubles()]


def maintenance_troubles() -> list[Trouble]:
    row = current_maintenance()
    if row is None:
        return []
    why = f" {row.reason.rstrip('.')}." if row.reason else ""
    advice = f"{row.by} paused all runs.{why} They go on when it is over; nothing is lost."
    return [Trouble("Maintenance", advice)]


def storage_troubles() -> list[Trouble]:
    """The disk here, and the database wherever it is. A full disk may stop Redis as well."""
    free = shutil.disk_usage(settings.EVALSITE_DATA).free
    if free >= SCARCE_BYTES and not is_storage_full():
        return []
    if free >= FULL_BYTES and not is_storage_full():
        left = f"{free // MEGABYTE:,} MB are left in {settings.EVALSITE_DATA}. "
        return [Trouble("Storage is nearly full", f"{left}Make room, or runs will be paused.")]
    advice = "Runs are paused and nothing is lost: make room, then resume them."
    return [Trouble("Storage is full", advice)]


def service_troubles() -> list[Trouble]:
    alive = count_workers()
    if alive is None:
        return [
            Trouble(
                "Redis does not answer",
                "Runs wait, or go on at a part of their limits. See that the Redis of REDIS_URL "
                "runs; everything else goes on by itself.",
            )
        ]
    return [*worker_troubles(alive), *breaker_troubles()]


def worker_troubles(alive: int) -> list[Trouble]:
    if alive >= settings.WORKERS:
        return []
    if not alive:
        return [Trouble(NOBODY_WORKS, f"{waiting_text()}Start one with manage.py work.")]
    what = f"{alive} of {settings.WORKERS} workers {'is' if alive == 1 else 'are'} running"
    advice = f"Start another with manage.py work, or set EVALSITE_WORKERS to {alive}."
    return [Trouble(what, waiting_text() + advice)]


def waiting_text() -> str:
    """How much nobody has begun to work on."""
    runs, chunks, _ = read_waiting()
    parts = [
        f"{number:,} {name}{'' if number == 1 else 's'}"
        for number, name in ((runs, "queued run"), (chunks, "chunk"))
        if number
    ]
    verb = "waits" if runs + chunks == 1 else "wait"
    return f"{' and '.join(parts)} {verb}. " if parts else ""


def breaker_troubles() -> list[Trouble]:
    endpoints = Endpoint.objects.order_by("name").values_list("pk", "name", "model_names")
    names = {(pk, model): f"{name}/{model}" for pk, name, models in endpoints for model in models}
    states = read_permits(names) or {}
    broken = [place for place, state in states.items() if state.is_broken]
    if not broken:
        return []
    shown = ", ".join(names[place] for place in broken[:MOST_NAMED])
    more = f" and {len(broken) - MOST_NAMED} more" if len(broken) > MOST_NAMED else ""
    what = "A model is failing" if len(broken) == 1 else f"{len(broken)} models are failing"
    pks = {pk for pk, _ in broken}
    one = len(pks) == 1
    address = reverse("endpoint", args=[pks.pop()]) if one else reverse("endpoints")
    return [Trouble(what, f"{shown}{more} failed again and again. The next try is soon.", address)]


def is_without_worker() -> bool:
    """Whether it is known that nobody works; asked for runs that wait."""
    return any(trouble.what == NOBODY_WORKS for trouble in recent_troubles())
