"""Permits over a real Redis: one limit for all holders, by the server's clock."""

import asyncio
import time

import pytest
import redis.asyncio

from tests.harness.patience import PATIENCE_SECONDS
from workers import redis_permits
from workers.engine.throttling.permits import Demand, LocalPermits, Quota, Report
from workers.redis_permits import RedisPermits

FAR = 10**14  # a time of Redis, in milliseconds: not while a test lasts
RUN = Quota("run:1", 10)
MODEL = Quota("endpoint:1/small", 6)


@pytest.fixture(autouse=True)
def patience():
    """A test that stands still for a while is no dead holder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redis_permits, "LEASE_MILLISECONDS", round(1000 * PATIENCE_SECONDS))
        yield


def holder(client, name, workers=2):
    return RedisPermits(client, name, workers, LocalPermits(time.monotonic))


@pytest.fixture
def ann(client):
    return holder(client, "ann")


@pytest.fixture
def ben(client):
    return holder(client, "ben")


async def test_all_holders_together_stay_within_the_limit_and_what_is_given_back_is_free(ann, ben):
    first = await ann.exchange((RUN,), Demand((0,), 7))
    second = await ben.exchange((RUN,), Demand((0,), 7))
    assert (first.permits, second.permits) == (7, 3)
    assert second.in_use == (10,)
    assert (await ben.exchange((RUN,), Demand((3,), 4))).permits == 0
    await ann.exchange((RUN,), Demand((3,), 0))
    assert (await ben.exchange((RUN,), Demand((3,), 4))).permits == 4
    # A permit needs room under every quota.
    grant = await ann.exchange((Quota("run:2", 10), MODEL), Demand((0, 0), 20))
    assert (grant.permits, grant.in_use) == (6, (6, 6))


async def test_who_has_more_than_its_share_is_asked_to_give_back(ann, ben):
    await ann.exchange((RUN,), Demand((0,), 10))
    await ben.exchange((RUN,), Demand((0,), 8))
    grant = await ann.exchange((RUN,), Demand((10,), 5))
    assert (grant.permits, grant.surplus) == (0, 5)
    assert (await ann.exchange((RUN,), Demand((5,), 5))).permits == 0  # its share, while ben waits
    assert (await ben.exchange((RUN,), Demand((0,), 8))).permits == 5


async def test_a_dead_holders_permits_come_back(client, ben):
    dead = holder(client, "dead")
    await dead.exchange((RUN,), Demand((0,), 10))
    assert (await ben.exchange((RUN,), Demand((0,), 10))).permits == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redis_permits, "LEASE_MILLISECONDS", 1)
        await dead.exchange((RUN,), Demand((10,), 0))  # its last words
    while not (grant := await ben.exchange((RUN,), Demand((0,), 10))).permits:
        pass  # each look takes Redis a moment
    assert grant.permits == 10


async def test_an_emptied_redis_grants_nothing_before_all_have_said_again_what_they_hold(
    client, ann, ben
):
    await ann.exchange((RUN,), Demand((0,), 5))
    await ben.exchange((RUN,), Demand((0,), 3))
    await client.flushall()
    grant = await ann.exchange((RUN,), Demand((5,), 5))
    assert grant.permits == 0  # others may hold some, too
    assert 0.5 < grant.retry_seconds <= 1.2
    assert await client.set("permits:memory", FAR, xx=True)  # it began; no time has passed yet
    assert (await ben.exchange((RUN,), Demand((3,), 5))).permits == 0
    await client.set("permits:memory", 0)  # as if the time for it had passed
    cleo = holder(client, "cleo")
    assert (await cleo.exchange((RUN,), Demand((0,), 10))).permits == 2
    assert (await ann.exchange((RUN,), Demand((5,), 5))).permits == 0


async def test_a_rate_is_shared_by_all_holders(client, ann, ben):
    quota, interval = Quota("endpoint:1/paced", 1000, 6000), 60 / (6000 - 60)
    began = time.monotonic()

    async def granted():
        return sum(
            [(await one.exchange((quota,), Demand((0,), 100))).permits for one in (ann, ben)]
        )

    def most_refilled():
        return (time.monotonic() - began) / interval + 1

    assert 60 <= await granted() <= 60 + most_refilled()  # a hundredth of a minute at once
    due = f"permits:due:{quota.key}"
    await client.set(due, float(await client.get(due)) - 1000 * 10 * interval)  # as if it passed
    assert 10 <= await granted() <= 10 + most_refilled()


MODEL_OF_RUN_1 = Quota("endpoint:1/fair", 12, group="1")
MODEL_OF_RUN_2 = Quota("endpoint:1/fair", 12, group="2")


async def settle_shares(client, quotas, rounds=6):
    """Everybody wants a lot, gives back what it is asked to, and asks again."""
    held = dict.fromkeys(quotas, 0)
    for _ in range(rounds):
        for name, quota in quotas.items():
            for want in (50, 0, 0, 50):
                grant = await holder(client, name).exchange((quota,), Demand((held[name],), want))
                held[name] += grant.permits - min(grant.surplus, held[name])
            assert sum(held.values()) <= 12
    return held


async def test_runs_share_a_model_equally_whatever_their_number_of_workers(client):
    quotas = {"ann": MODEL_OF_RUN_1, "ben": MODEL_OF_RUN_1, "cleo": MODEL_OF_RUN_1}
    held = await settle_shares(client, {**quotas, "dan": MODEL_OF_RUN_2})
    assert held["dan"] == 6
    assert sum(held.values()) == 12


async def test_a_run_of_higher_priority_has_more(client):
    high = MODEL_OF_RUN_2._replace(weight=3)
    held = await settle_shares(client, {"ann": MODEL_OF_RUN_1, "dan": high})
    assert held == {"ann": 3, "dan": 9}


TURN_SECONDS = 0.2  # in permits.lua


async def turn_now(client):
    seconds, microseconds = await client.time()
    return int((seconds + microseconds / 1e6) / TURN_SECONDS)


async def test_one_slot_goes_round(client):
    quota = Quota("endpoint:1/single", 1)
    for name in ("ann", "ben"):  # now both are known to want it
        await holder(client, name).exchange((quota,), Demand((0,), 5))
    owners: dict[int, set[str]] = {}  # of every turn in which somebody had the slot
    while len({turn % 2 for turn in owners}) < 2 or len(owners) < 4:
        turn, got = await turn_now(client), set[str]()
        for name in ("ann", "ben"):  # each has given back what it had, and wants more
            grant = await holder(client, name).exchange((quota,), Demand((0,), 5))
            got |= {name} if grant.permits else set()
        is_whole = turn == await turn_now(client)  # else it may have been anybody's
        if got and is_whole:
            owners[turn] = owners.get(turn, set()) | got
        await asyncio.sleep(TURN_SECONDS / 10)  # Redis's own clock ends a turn: look now and then
    even = [names for turn, names in owners.items() if turn % 2 == 0]
    odd = [names for turn, names in owners.items() if turn % 2]
    assert [{"ann"}, {"ben"}] == sorted([even[0], odd[0]], key=min)
    assert all(names == even[0] for names in even)
    assert all(names == odd[0] for names in odd)


ADAPTIVE = Quota("endpoint:1/adaptive", 100, group="1", is_adaptive=True, is_guarded=True)


async def report(one, held=0, **what):
    return await one.exchange((ADAPTIVE,), Demand((held,), 500, report=Report(**what)))


async def limit_now(client):
    return int(await client.hget(f"permits:state:{ADAPTIVE.key}", "limit") or 0)


async def hold(client, *fields):
    """What has begun with these times is not over, however long the test stands still."""
    state = f"permits:state:{ADAPTIVE.key}"
    for field in fields:
        assert int(await client.hget(state, field) or 0) > 0
        await client.hset(state, field, FAR)


async def end_pause(client):
    """As if the time had passed that the provider asked for."""
    await client.hset(f"permits:state:{ADAPTIVE.key}", "gate", 0)


async def test_an_adaptive_limit_starts_gently_and_doubles_while_it_is_reached(client, ann):
    assert (await report(ann)).permits == 20
    await ann.exchange((ADAPTIVE,), Demand((3,), 0, report=Report(good=50)))
    assert await limit_now(client) == 20  # nobody reached it
    assert (await report(ann, held=20, good=20)).permits == 20
    grant = await report(ann, held=40, good=60)
    assert grant.permits == 60
    assert grant.changes[-1][1:] == (40, 100, "slow start", "")


async def test_a_limit_that_a_person_lowers_is_not_said_to_have_grown(ann):
    await report(ann, held=20, good=20)
    await report(ann, held=40, good=60)
    lowered = ADAPTIVE._replace(max_concurrent=5)
    grant = await ann.exchange((lowered,), Demand((100,), 500, report=Report(good=1)))
    assert [change[1:4] for change in grant.changes] == [(100, 5, "lowered")]


async def test_one_episode_of_429s_cuts_once_and_ends_the_slow_start(client, ann, ben):
    await report(ann, held=20, good=20)
    grant = await report(ann, held=40, throttled=7)
    assert [change[1:4] for change in grant.changes] == [(40, 32, "cut: the provider said 429")]
    await hold(client, "cool")
    assert (await report(ben, throttled=9)).changes == ()
    assert await limit_now(client) == 32
    await report(ann, held=32, good=500)
    assert await limit_now(client) == 32  # no growth before the overload has cooled down


async def test_a_few_5xx_do_not_stop_growth_and_many_pause_it_but_do_not_cut(client, ann):
    await report(ann, held=20, good=19, troubled=1)
    assert await limit_now(client) == 39
    await report(ann, held=39, good=4, troubled=8)
    await hold(client, "calm")
    await report(ann, held=39, good=30)
    assert await limit_now(client) == 39


async def test_a_limit_grows_no_more_while_calls_wait_at_the_server(client, ann):
    await report(ann, held=20, good=20)
    await report(ann, held=40, good=40, bears=4)
    assert await limit_now(client) == 40
    await client.hset(f"permits:state:{ADAPTIVE.key}", "bore", 0)  # as if a minute had passed
    await report(ann, held=40, good=40)
    assert await limit_now(client) == 80


async def test_retry_after_closes_the_gate_for_everybody(client, ann, ben):
    began = time.monotonic()
    await report(ann, throttled=1, pause_seconds=600.0)
    grant = await report(ben)
    assert grant.permits == 0
    assert 600 - (time.monotonic() - began) - 0.002 <= grant.retry_seconds <= 600
    await end_pause(client)
    assert (await report(ben)).permits > 0


async def test_after_a_pause_the_calls_come_back_by_and_by(client, ann):
    await report(ann, held=20, good=80)  # all of the hundred may fly
    await report(ann, held=100, throttled=30, pause_seconds=60.0)  # cut to 80
    assert (await report(ann, held=60, good=40)).permits == 0
    await end_pause(client)
    back = [(await report(ann)).permits]
    for _ in range(4):
        back.append((await report(ann, good=back[-1])).permits)
    assert back == [10, 20, 40, 80, 80]


async def test_a_moments_pause_halves_what_flies_once(client, ann, ben):
    await report(ann, held=20, good=80)
    await report(ann, held=100, throttled=1, pause_seconds=0.2)  # cut to 80
    await hold(client, "cool", "gate")
    late = Report(throttled=5, pause_seconds=0.1)  # of the same overload
    await ben.exchange((ADAPTIVE,), Demand((0,), 0, report=late))
    await end_pause(client)
    assert (await report(ann)).in_use == (40,)


async def test_limits_told_by_the_provider_are_kept_before_it_says_429(ann):
    began = time.monotonic()
    grant = await report(ann, good=1, told_requests_per_minute=600)
    assert (grant.permits, grant.is_paced) == (6, True)
    more = (await report(ann)).permits
    assert more <= 10 * (time.monotonic() - began)  # ten a second: none, but on a slow machine


async def test_tokens_are_reserved_and_settled(ann):
    quota = Quota("endpoint:1/tokens", 100, tokens_per_minute=60_000)
    demand, began = Demand((0,), 50, tokens_each=300), time.monotonic()
    assert (await ann.exchange((quota,), demand)).permits == 2  # a hundredth of a minute at once
    more = (await ann.exchange((quota,), demand)).permits
    assert more <= (time.monotonic() - began) * 1000 / 300  # none, but on a slow machine
    refund = demand._replace(report=Report(tokens=-300 * (2 + more)))
    assert (await ann.exchange((quota,), refund)).permits == 2


async def test_failing_in_a_row_opens_the_breaker_and_a_good_probe_closes_it(client, ann, ben):
    for _ in range(30):
        assert (await report(ann, good=19, troubled=1)).permits > 0  # a few among many do not
    await report(ann, good=1, troubled=3, row=2)  # two of them after the good one
    await report(ann, troubled=1, row=1)
    grant = await report(ben, troubled=2, row=2)
    assert grant.permits == 0
    assert grant.changes[-1].after == 0
    assert "breaker opened" in grant.changes[-1].reason
    await hold(client, "until")
    assert (await report(ann)).permits == 0
    await client.hset(f"permits:state:{ADAPTIVE.key}", "until", 0)  # instead of waiting 15 s
    probes = 0
    turns = {await turn_now(client)}
    while not probes or len(turns) < 4:  # the one probe goes to whoever's turn it is
        probes += (await report(ann, held=probes)).permits + (await report(ben)).permits
        turns.add(await turn_now(client))
        await asyncio.sleep(TURN_SECONDS / 10)  # as above
    assert probes == 1
    grant = await report(ben, good=1)
    assert "breaker closed" in grant.changes[-1].reason
    assert grant.permits > 1


async def test_without_redis_each_worker_keeps_to_its_part():
    nowhere = redis.asyncio.Redis.from_url("redis://127.0.0.1:1/0")
    alone = holder(nowhere, "ann", workers=3)
    grant = await alone.exchange((RUN,), Demand((0,), 10))
    assert grant.permits == 3
    assert [change[1:3] for change in grant.changes] == [(10, 3)]
    assert "Redis is away" in grant.changes[0].reason
    assert (await alone.exchange((RUN,), Demand((3,), 10))).permits == 0
    await nowhere.aclose()
