"""Redis is killed, emptied, gone for a while, or full; and limits hold without its memory."""

import time
from contextlib import suppress

import pytest
import redis

from tests.faults.checker import busiest, longest_gap, read_ledger
from tests.faults.stage import STANDARD, Load, wait_for
from tests.faults.test_pages import Audience, counted

SHORT = Load(trials=300, latency_ms=100, slots=10)
SPARE_BYTES = 20_000  # of a Redis that is nearly full
WINDOWS_SECONDS = (60.0, 10.0)
OVER_A_MINUTE = Load(trials=2400, latency_ms=100, slots=20)  # at the rates of rows 49 and 50
REQUESTS_PER_MINUTE = 1200
TOKENS_PER_MINUTE = 60_000  # about 40 a call
SECONDS_PER_MINUTE = 60.0
LATE_SECONDS = 2.0  # a busy machine delivers calls later than it let them go


def redis_of(stage):
    return redis.Redis.from_url(stage.site.env["REDIS_URL"])


@pytest.mark.row("9", "kill -9 of Redis, started again", "no gap above 10 s", is_short=True)
def test_redis_is_killed(stage):
    """It comes back with its append-only file."""
    act = stage.launch(SHORT, until=0.4)
    stage.site.redis.kill()
    time.sleep(1)  # how long it is away
    stage.site.start_again(stage.site.redis)
    act.finish(90)
    stage.figure("gap_seconds", longest_gap(stage.site), most=stage.bar(10))
    act.check(wasted=act.load.slots)


@pytest.mark.row(
    "10", "Redis emptied at 50 %, under a rate", "no gap above 15 s; limits hold", is_short=True
)
def test_redis_is_emptied_under_a_rate(stage):
    per_minute = 1800
    act = stage.launch(Load(240, 100, 10), endpoint={"requests_per_minute": per_minute})
    act.wait_for_share(0.5, 120)
    redis_of(stage).flushall()
    act.finish(180)
    stage.figure("gap_seconds", longest_gap(stage.site), most=stage.bar(15))
    check_windows(stage, "calls", [1] * act.calls(), per_minute)
    act.check(wasted=act.load.slots)


@pytest.mark.row("10b", "Redis emptied four times", "no gap above 15 s; limits hold")
def test_redis_is_emptied_several_times(stage):
    """Where nothing but the calls at once is limited."""
    act = stage.launch(SHORT)
    for share in (0.2, 0.4, 0.6, 0.8):
        act.wait_for_share(share)
        redis_of(stage).flushall()
    act.finish(90)
    stage.figure("gap_seconds", longest_gap(stage.site), most=stage.bar(15))
    act.check()


@pytest.mark.row(
    "11",
    "no Redis for 60 s",
    "in flight at most the limit; pages load, and none is stale for more than 15 s; noted",
)
def test_redis_is_gone_for_a_while(stage):
    """Pages that are open, and one that is loaded, show the run."""
    act = stage.launch(SHORT, STANDARD._replace(trials=2997))
    with Audience(act, 5) as audience:
        act.wait_for_share(0.3)
        stage.site.redis.kill()
        load_pages(act, 60 if stage.is_full else 5)
        stage.site.start_again(stage.site.redis)
        calls = act.calls()
        resumed = wait_for(lambda: act.calls() > calls or act.is_over(), 30, "calls after it")
        stage.figure("resumed_seconds", resumed, most=stage.bar(30))
        act.finish(120)
        audience.check()
    stage.figure("noted", notes_of_redis(act), least=2)  # that it is away, and that it is back
    act.check()


def load_pages(act, seconds):
    """Each shows at least what was stored when it was asked for."""
    pages, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        before = counted(act)
        shown = act.site.visitor.read_page(act.run)
        told = int(shown.progress.split(" of ")[0].replace(",", ""))
        act.stage.expect(told >= before, f"I9: a page said {told}, {before} were stored")
        pages += 1
        time.sleep(1)  # a page a second
    act.stage.figure("pages_loaded", pages)


def notes_of_redis(act):
    return sum("Redis" in event["message"] for event in act.events("limit"))


@pytest.mark.row(
    "12", "Redis full for 10 s", "0 lost trials, noted; wasted calls at most the slots"
)
def test_redis_takes_no_more(stage):
    act = stage.launch(SHORT, until=0.3)
    client = redis_of(stage)
    used = int(client.info("memory")["used_memory"])
    client.config_set("maxmemory", used + SPARE_BYTES)
    with suppress(redis.RedisError):  # it was full already, which is what is wanted
        client.set("filler", b"x" * SPARE_BYTES)
    try:
        time.sleep(10 if stage.is_full else 3)  # how long it is full
    finally:
        client.config_set("maxmemory", 0)
        client.delete("filler")
    act.finish(120)
    stage.figure("noted", notes_of_redis(act), least=1)
    act.check(wasted=act.load.slots)


RATE_BAR = (
    "as the provider sees it: no 60 s above the limit, no 10 s above its share and two bursts"
)


@pytest.mark.row(
    "49", "1,200 requests a minute, a worker and Redis killed, Redis emptied", RATE_BAR
)
def test_requests_a_minute_hold(stage):
    act = crash_under(stage, {"requests_per_minute": REQUESTS_PER_MINUTE})
    check_windows(stage, "calls", [1] * act.calls(), REQUESTS_PER_MINUTE)


@pytest.mark.row(
    "50",
    "60,000 tokens a minute, a worker and Redis killed, Redis emptied",
    RATE_BAR,
    is_short=True,
)
def test_tokens_a_minute_hold(stage):
    crash_under(stage, {"tokens_per_minute": TOKENS_PER_MINUTE})
    used = [row["tokens_in"] + row["tokens_out"] for row in read_ledger(stage.site)]
    check_windows(stage, "tokens", used, TOKENS_PER_MINUTE)


def crash_under(stage, limit):
    """A worker is killed, then Redis, then Redis is emptied; all are there again at once."""
    act = stage.launch(Load(180, 100, 10), OVER_A_MINUTE, endpoint=limit, held_at=0.2)
    act.wait_for_share(0.2, 120)
    victim = stage.busy_worker()
    victim.kill()
    act.let_go()
    victim.start_again()
    act.wait_for_share(0.4, 120)
    stage.site.redis.kill()
    stage.site.start_again(stage.site.redis)
    act.wait_for_share(0.6, 120)
    redis_of(stage).flushall()
    act.finish(300)
    act.check(wasted=2 * act.load.slots)
    return act


def check_windows(stage, what, used, per_minute):
    """I4: no window holds more than its share of the limit, and two bursts: one that is allowed,
    one after Redis has forgotten. A minute holds no more than the limit."""
    arrivals = [row["arrival"] for row in read_ledger(stage.site)]
    burst = 2 * max(per_minute // 100, *used)
    late = 0.0 if stage.is_full else LATE_SECONDS
    for seconds in WINDOWS_SECONDS:
        share = per_minute * (seconds + late) / SECONDS_PER_MINUTE
        most = per_minute if seconds == SECONDS_PER_MINUTE else share + burst
        found = busiest(arrivals, seconds, used)
        stage.figure(f"most_{what}_in_{seconds:.0f}_s", found, most)
    if stage.is_full:  # a short one may be over before the limit is felt
        short = per_minute * WINDOWS_SECONDS[-1] / SECONDS_PER_MINUTE
        stage.expect(found >= short / 2, f"the limit was not felt: {found} {what} in 10 s")
