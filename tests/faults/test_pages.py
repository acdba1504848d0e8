"""Pages while the web part dies, nudges are lost, or a reader is slow."""

import signal
import subprocess
import threading
import time
from collections import Counter
from http.client import HTTPException

import pytest

from tests.faults.audience import Audience
from tests.faults.checker import busiest
from tests.faults.stage import STANDARD, Load, wait_for
from tests.harness.processes import memory_mb

SHORT = Load(trials=240, latency_ms=200, slots=10)
FULL = STANDARD._replace(latency_ms=200)
HEARTBEAT_SECONDS = 10
READ_SECONDS = 10.0
WORKER_GRACE_SECONDS, WEB_GRACE_SECONDS = 30.0, 5.0  # as `serve` gives them


@pytest.mark.row(
    "39",
    "30 % of the nudges lost, others doubled or late",
    "pages right within 11 s of the end, never stale for more than 15 s",
    on="lossy",
    is_short=True,
)
def test_nudges_are_lost(stage):
    act = stage.launch(SHORT, FULL)
    with Audience(act, 5) as audience:
        act.finish(120)
        ended = time.monotonic()
        wait_for(audience.has_ended, 60, "I9: the pages know of the end")
        late = max(viewer.ended_at for viewer in audience.viewers) - ended
        stage.figure("pages_late_seconds", max(0.0, late), stage.bar(HEARTBEAT_SECONDS + 1))
        audience.check()
    act.check()


@pytest.mark.row(
    "38",
    "kill -9 of the web part with 50 pages open",
    "all live within 35 s; at most 50 connects in any second",
)
def test_the_web_part_is_killed(stage):
    act = stage.launch(SHORT, FULL)
    with Audience(act, 50 if stage.is_full else 10) as audience:
        viewers = audience.viewers
        wait_for(lambda: all(viewer.snapshots for viewer in viewers), 60, "all are connected")
        stage.site.web.kill()
        killed = time.monotonic()
        stage.site.start_again(stage.site.web)
        wait_for(lambda: min(v.snapshots[-1] for v in viewers) > killed, 60, "all are back")
        back = max(viewer.snapshots[-1] for viewer in viewers) - killed
        stage.figure("all_live_seconds", back, most=35)
        moments = sorted(m for viewer in viewers for m in viewer.connected if m > killed)
        stage.figure("connects_in_a_second", busiest(moments, 1.0, [1] * len(moments)), most=50)
        act.finish(120)
        audience.check()
    act.check()


@pytest.mark.row(
    "40",
    "a page that reads one frame in 10 s",
    "one frame waits at most; the web part grows by at most 5 MB",
)
def test_a_page_reads_slowly(stage):
    act = stage.launch(SHORT, FULL)
    with Audience(act, 1) as first:  # has the web part load what every page needs
        wait_for(lambda: first.viewers[0].snapshots, 30, "the first page")
    before, began = memory_mb(stage.site.web.pid), time.monotonic()
    with Audience(act, 1, reads_every=READ_SECONDS) as audience:
        act.finish(120)
        growth = memory_mb(stage.site.web.pid) - before
        # One frame may wait, no more: hello, snapshot and end, and one for each that was read.
        most = 3 + (time.monotonic() - began) // READ_SECONDS
        stage.figure("frames_sent", audience.viewers[0].frames, most)
    stage.figure("growth_mb", growth, most=5)
    act.check()


@pytest.mark.row(
    "8",
    "web and workers restarted in turn, five times",
    "at most 1 % server errors, 0 wasted calls",
)
def test_everything_is_restarted_in_turn(stage):
    site = stage.site
    act = stage.launch(SHORT, FULL._replace(trials=2997))
    codes: Counter[int] = Counter()
    stop = threading.Event()
    visitor = threading.Thread(target=visit, args=(act, codes, stop), daemon=True)
    visitor.start()
    with Audience(act, 5) as audience:
        for _ in range(5 if stage.is_full else 1):
            for worker in site.workers:
                worker.signal(signal.SIGTERM)
                worker.wait(WORKER_GRACE_SECONDS)
                site.start_again(worker)
            stop_web(site.web)
            site.start_again(site.web)
        act.finish(180)
        stop.set()
        visitor.join(10)
        audience.check()
    bad = sum(count for code, count in codes.items() if code >= 500)
    stage.figure("pages_loaded", codes[200])
    stage.figure("server_errors_share", bad / max(1, codes.total()), most=0.01)
    act.check(wasted=0)


def stop_web(web):
    """As `serve` does: SIGTERM, and SIGKILL if pages that are open keep it from ending."""
    web.signal(signal.SIGTERM)
    try:
        web.wait(WEB_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        web.kill()


def visit(act, codes, stop):
    """Load the run's page again and again; while nobody answers, that is no answer."""
    while not stop.wait(0.1):
        try:
            codes[act.site.visitor.load(f"/runs/{act.run}/").status] += 1
        except (OSError, HTTPException):
            codes[0] += 1
