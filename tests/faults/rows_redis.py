"""Rows 9 to 12: Redis is killed, emptied, gone for a while, or full."""

from __future__ import annotations

import time
from itertools import pairwise

import redis

from tests.faults.checker import read_ledger
from tests.faults.rows_live import check_pages, watching
from tests.faults.stage import Act, Load, Stage

SHORT = Load(trials=300, latency_ms=100, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)
SPARE_BYTES = 20_000  # of a Redis that is nearly full


def longest_gap(act: Act) -> float:
    """The longest time without a new call, as the provider saw it."""
    arrivals: list[float] = [row["arrival"] for row in read_ledger(act.cluster)]
    return max(later - earlier for earlier, later in pairwise(arrivals))


def restart_redis(stage: Stage) -> None:
    """Row 9: kill -9 of Redis and start, with its append-only file."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.4)
    stage.nemesis.kill(stage.cluster.redis)
    time.sleep(1)
    stage.nemesis.start_redis()
    act.finish(90)
    stage.verdict.figure("gap_seconds", longest_gap(act), most=stage.bar(10))
    act.check(wasted=act.load.slots)


def empty_redis(stage: Stage) -> None:
    """Row 10: FLUSHALL at half of the work, under a rate."""
    per_minute = 1800
    load = stage.load(Load(240, 100, 10), Load(1998, 100, 20))
    act = stage.launch(load, endpoint={"requests_per_minute": per_minute})
    act.wait_for_share(0.5, 120)
    stage.nemesis.empty_redis()
    act.finish(180)
    stage.verdict.figure("gap_seconds", longest_gap(act), most=stage.bar(15))
    late = 0.0 if stage.is_full else 2.0
    act.check(wasted=act.load.slots, requests_per_minute=per_minute, late_seconds=late)


def empty_redis_without_rate(stage: Stage) -> None:
    """Row 10 again, where nothing but the calls at once is limited: several times."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    for share in (0.2, 0.4, 0.6, 0.8):
        act.wait_for_share(share)
        stage.nemesis.empty_redis()
    act.finish(90)
    stage.verdict.figure("gap_seconds", longest_gap(act), most=stage.bar(15))
    act.check()


def lose_redis(stage: Stage) -> None:
    """Row 11: no Redis for a minute. Pages that are open, and one that is loaded, show the run."""
    act = stage.launch(stage.load(SHORT, STANDARD._replace(trials=2997)))
    with watching(stage, act, 5) as audience:
        act.wait_for_share(0.3)
        stage.nemesis.kill(stage.cluster.redis)
        end = time.monotonic() + (60 if stage.is_full else 5)
        pages = 0
        while time.monotonic() < end:
            before = stage.cluster.truth.one(f"SELECT done FROM runs_run WHERE id = {act.run}")
            shown = stage.cluster.visitor.read_page(act.run)
            told = int(shown.progress.split(" of ")[0].replace(",", ""))
            stage.verdict.expect(told >= before, f"I9: a page said {told}, {before} were stored")
            pages += 1
            time.sleep(1)
        stage.verdict.figure("pages_loaded", pages)
        go_on_with_redis(stage, act)
        act.wait_for(audience.has_ended, 60, "I9: the pages know of the end")
        check_pages(stage, act, audience)
    noted = [event["message"] for event in act.events("limit") if "Redis" in event["message"]]
    stage.verdict.at_least("noted", len(noted), 2)  # that it is away, and that it is back
    act.check()


def go_on_with_redis(stage: Stage, act: Act) -> None:
    stage.nemesis.start_redis()
    back = time.monotonic()
    calls = act.calls()
    if not act.is_over():
        act.wait_for(lambda: act.calls() > calls or act.is_over(), 30, "calls after the return")
    stage.verdict.figure("resumed_seconds", time.monotonic() - back, most=stage.bar(30))
    act.finish(120)


def fill_redis(stage: Stage) -> None:
    """Row 12: Redis takes no more, then has room again."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    client = redis.Redis.from_url(stage.cluster.env["REDIS_URL"])
    used = int(client.info("memory")["used_memory"])
    client.config_set("maxmemory", used + SPARE_BYTES)
    try:
        client.set("filler", b"x" * SPARE_BYTES)
    except redis.RedisError:
        pass  # it was full already, which is what is wanted
    try:
        time.sleep(10 if stage.is_full else 3)
    finally:
        client.config_set("maxmemory", 0)
        client.delete("filler")
    act.finish(120)
    noted = [event["message"] for event in act.events("limit") if "Redis" in event["message"]]
    stage.verdict.at_least("noted", len(noted), 1)
    act.check(wasted=act.load.slots)
