"""Rows 8 and 38 to 40: pages while the web part dies, nudges are lost, or a reader is slow."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

from tests.faults.audience import Audience
from tests.faults.checker import busiest
from tests.faults.stage import BUSY_FACTOR, Act, Load, Stage

SHORT = Load(trials=240, latency_ms=200, slots=10)
STANDARD = Load(trials=1998, latency_ms=200, slots=20)
HEARTBEAT_SECONDS = 10
READ_SECONDS = 10.0
STALE_SECONDS = 15.0  # a page that shows older numbers must say so
WORKER_GRACE_SECONDS, WEB_GRACE_SECONDS = 30.0, 5.0  # as `serve` gives them


@contextmanager
def watching(stage: Stage, act: Act, count: int, reads_every: float = 0.0) -> Iterator[Audience]:
    audience = Audience(stage.cluster, act.run, count, stage.random, reads_every=reads_every)
    try:
        yield audience
    finally:
        audience.close()


def check_pages(stage: Stage, act: Act, audience: Audience) -> None:
    """I9: what every page was told last is what the database says."""
    state, done, planned = stage.cluster.truth.rows(
        f"SELECT state, done, planned FROM runs_run WHERE id = {act.run}"
    )[0]
    wanted = (state, f"{done:,} of {planned:,} trials")
    shown = [
        (v.last.get("state"), v.last.get("text", {}).get("progress")) for v in audience.viewers
    ]
    wrong = [page for page in shown if page != wanted]
    stage.verdict.figure("pages", len(shown))
    most = STALE_SECONDS if stage.is_full else BUSY_FACTOR * STALE_SECONDS
    stage.verdict.figure("stale_seconds", audience.stale_seconds(), most)
    stage.verdict.expect(not wrong, f"I9: {len(wrong)} pages differ, such as {wrong[:1]}")


def lose_nudges(stage: Stage) -> None:
    """Row 39: of the nudges 30 % are lost, others doubled or overtaken."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    with watching(stage, act, 5) as audience:
        act.finish(120)
        ended = time.monotonic()
        act.wait_for(audience.has_ended, 60, "I9: the pages know of the end")
        late = max(viewer.ended_at for viewer in audience.viewers) - ended
        most = stage.bar(HEARTBEAT_SECONDS + 1)
        stage.verdict.figure("pages_late_seconds", max(0.0, late), most)
        check_pages(stage, act, audience)
    act.check()


def kill_web(stage: Stage) -> None:
    """Row 38: kill -9 of the web part with people looking on."""
    count = 50 if stage.is_full else 10
    act = stage.launch(stage.load(SHORT, STANDARD))
    with watching(stage, act, count) as audience:
        viewers = audience.viewers
        act.wait_for(lambda: all(viewer.snapshots for viewer in viewers), 60, "all are connected")
        killed = stage.nemesis.kill(stage.cluster.web)
        stage.nemesis.start_web()
        act.wait_for(
            lambda: all(viewer.snapshots[-1] > killed for viewer in viewers), 60, "all are back"
        )
        back = max(viewer.snapshots[-1] for viewer in viewers) - killed
        stage.verdict.figure("all_live_seconds", back, most=35)
        moments = sorted(m for viewer in viewers for m in viewer.connected if m > killed)
        stage.verdict.figure("connects_in_a_second", busiest(moments, 1.0), most=50)
        act.finish(120)
        act.wait_for(audience.has_ended, 60, "I9: the pages know of the end")
        check_pages(stage, act, audience)
    act.check()


def slow_viewer(stage: Stage) -> None:
    """Row 40: a page reads one frame in ten seconds."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    with watching(stage, act, 1) as first:  # has the web part load what every page needs
        act.wait_for(lambda: bool(first.viewers[0].snapshots), 30, "the first page")
    web = stage.cluster.web
    before = web.memory_mb()
    began = time.monotonic()
    with watching(stage, act, 1, reads_every=READ_SECONDS) as audience:
        act.finish(120)
        growth = web.memory_mb() - before
        # One frame may wait, no more: hello, snapshot and end, and one for each that was read.
        most = 3 + (time.monotonic() - began) // READ_SECONDS
        stage.verdict.figure("frames_sent", audience.viewers[0].frames, most)
    stage.verdict.figure("growth_mb", growth, most=5)
    act.check()


def rolling_restarts(stage: Stage) -> None:
    """Row 8: web and workers are stopped and started one after the other, again and again."""
    act = stage.launch(stage.load(SHORT, STANDARD._replace(trials=2997)))
    codes: Counter[int] = Counter()
    stop = threading.Event()
    visitor = threading.Thread(target=visit, args=(stage, act, codes, stop), daemon=True)
    visitor.start()
    with watching(stage, act, 5) as audience:
        for _ in range(5 if stage.is_full else 1):
            for worker in stage.cluster.workers:
                stage.nemesis.term(worker)
                worker.wait(WORKER_GRACE_SECONDS)
                worker.start_again()
                worker.wait_ready()
            stop_web(stage)
            stage.nemesis.start_web()
        act.finish(180)
        stop.set()
        visitor.join(10)
        act.wait_for(audience.has_ended, 60, "I9: the pages know of the end")
        check_pages(stage, act, audience)
    bad = sum(count for code, count in codes.items() if code >= 500)
    stage.verdict.figure("pages_loaded", codes[200])
    stage.verdict.figure("server_errors_share", bad / max(1, sum(codes.values())), most=0.01)
    act.check(wasted=0)


def stop_web(stage: Stage) -> None:
    """As `serve` does: SIGTERM, and SIGKILL if pages that are open keep it from ending."""
    web = stage.cluster.web
    stage.nemesis.term(web)
    try:
        web.wait(WEB_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        stage.nemesis.kill(web)


def visit(stage: Stage, act: Act, codes: Counter[int], stop: threading.Event) -> None:
    """Load the run's page again and again; while nobody answers, that is no answer."""
    while not stop.wait(0.1):
        try:
            codes[stage.cluster.visitor.load(f"/runs/{act.run}/").status] += 1
        except (OSError, HTTPException):
            codes[0] += 1
