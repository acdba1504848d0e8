"""The provider hangs, drips, cuts, fails, refuses, or says that it is too much."""

import time
from itertools import pairwise
from statistics import mean

import pytest

from tests.faults.checker import check_page, longest_gap, read_ledger
from tests.faults.stage import BUSY_FACTOR, Load, wait_for

SHORT = Load(trials=180, latency_ms=100, slots=10)
DEADLINE_SECONDS = 2.0
ON_ITS_WAY_SECONDS = 0.1  # the deadline runs before a call has arrived
BREAKER_ROW, PROBE_SECONDS = 5, 15  # failures until the breaker opens, then a probe so often
COOLDOWN_SECONDS = 15  # in which 429s are one episode
SETTLE_SECONDS = 60
PATIENCE = 8  # attempts: of 2,000 trials none shall meet the fault so often by chance


@pytest.mark.row(
    "17",
    "5 % of the calls hang",
    "slot free within deadline + 1 s; 90 % of the healthy throughput; same table (8 attempts)",
    is_short=True,
)
def test_calls_hang(stage):
    slow_answers(stage, "hang")


@pytest.mark.row(
    "18",
    "5 % of the answers drip, a byte in 0.5 s",
    "ended within deadline + 1 s; 90 % of the healthy throughput; same table (8 attempts)",
    is_short=True,
)
def test_answers_drip(stage):
    slow_answers(stage, "drip")


def slow_answers(stage, fault):
    limits = {"timeout_seconds": DEADLINE_SECONDS, "attempts": PATIENCE}
    act = stage.launch(SHORT, limits=limits, provider={f"{fault}_rate": 0.05})
    act.finish(180)
    rows = read_ledger(stage.site)
    held = [row["end"] - row["arrival"] for row in rows if row["fault"] == fault]
    stage.figure("slow_calls", len(held), least=1)
    stage.figure("longest_call_seconds", max(held), most=stage.bar(DEADLINE_SECONDS + 1))
    # Of a short run the beginning is a large part, and others may work beside it.
    least = 0.9 if stage.is_full else 0.9 / BUSY_FACTOR
    stage.figure("throughput_share", throughput_share(rows, act.load, fault), least=least)
    if stage.is_full:
        act.check(cut_after=DEADLINE_SECONDS - ON_ITS_WAY_SECONDS)
    else:
        act.check(cut_faults=(fault,))


def throughput_share(rows, load, fault):
    """How many calls were answered, until nine tenths of all had begun, of those that the slots
    could have answered which no slow call held."""
    end = sorted(row["arrival"] for row in rows)[int(0.9 * len(rows))]
    seconds = end - rows[0]["arrival"]
    slow = sum(
        max(0.0, min(row["end"], end) - row["arrival"]) for row in rows if row["fault"] == fault
    )
    took = [row["end"] - row["arrival"] for row in rows if row["fault"] is None]
    answered = sum(row["end"] <= end for row in rows if row["fault"] is None)
    return answered / ((load.slots * seconds - slow) / mean(took))


@pytest.mark.row(
    "19",
    "10 % of the connections reset in mid-body",
    "one retry for each reset; same table (8 attempts)",
)
def test_connections_are_reset(stage):
    act = stage.launch(SHORT, limits={"attempts": PATIENCE}, provider={"reset_rate": 0.1})
    act.finish(180)
    resets = stage.site.simulator.ledger()["by_fault"].get("reset", 0)
    stage.figure("resets", resets, least=1)
    retries = act.calls() - act.load.trials
    stage.expect(retries == resets, f"{resets} resets led to {retries} retries")
    act.check(wasted=resets)


@pytest.mark.row(
    "20",
    "all calls answered 503 for 60 s",
    "in a row at most 5 calls + slots + a probe in 15 s; resumed within 20 s",
)
def test_everything_fails_for_a_while(stage):
    act = stage.launch(SHORT, until=0.3)
    simulator = stage.site.simulator
    simulator.play({"match": {}, "times": None, "do": "status", "status": 503})
    seconds = 60 if stage.is_full else 10
    time.sleep(seconds)  # how long it fails
    probes = -(-seconds // PROBE_SECONDS)
    count_failed(act, "status", in_a_row=BREAKER_ROW + probes)
    simulator.play()
    calls = act.calls()
    resumed = wait_for(lambda: act.calls() >= calls + 5, 120, "calls after the return")
    stage.figure("resumed_seconds", resumed, most=20)
    act.finish(120)
    act.check()


@pytest.mark.row(
    "21",
    "429 above 10 calls in flight",
    "0 failed; at most 1.15 calls per trial; cuts 15 s apart; after 60 s at most 5 % refused",
    is_short=True,
)
def test_too_many_calls_at_once_are_refused(stage):
    adaptive, provider = {"adaptive": True}, {"max_in_flight": 10}
    loads = Load(180, 100, 20), Load(1998, 200, 20)
    act = stage.launch(*loads, endpoint=adaptive, limits=adaptive, provider=provider, held_at=0)
    wait_for(lambda: refused_in(read_ledger(stage.site)), 60, "an eleventh call beside ten")
    act.let_go()
    act.finish(240)
    most = 1.15 if stage.is_full else 2.0  # the first seconds weigh more in a short run
    stage.figure("amplification", act.calls() / act.load.trials, most)
    check_cuts(act)
    act.check()


def refused_in(rows):
    return sum(not row["accepted"] for row in rows)


def check_cuts(act):
    """One cut for each episode, and what is left settles at what the provider takes."""
    cuts = [event["second"] for event in act.events("limit") if "429" in event["reason"]]
    act.stage.figure("cuts", len(cuts), least=1)
    apart = min((later - earlier for earlier, later in pairwise(cuts)), default=COOLDOWN_SECONDS)
    act.stage.expect(apart >= COOLDOWN_SECONDS - 1, f"two cuts were only {apart} s apart")
    rows = read_ledger(act.site)
    late = [row for row in rows if row["arrival"] > rows[0]["arrival"] + SETTLE_SECONDS]
    share = refused_in(late) / max(1, len(late))
    act.stage.figure("refused_share_after_60_s", share, most=0.05)


@pytest.mark.row("22", "429 without Retry-After, and with an hour in it", "no wait above 125 s")
def test_absurd_waits_are_asked_for(stage):
    act = stage.launch(Load(60, 50, 5), None)
    stage.site.simulator.play(
        {"match": {}, "times": 3, "do": "status", "status": 429},
        {"match": {}, "times": 1, "do": "status", "status": 429, "retry_after": 3600},
    )
    act.finish(200)
    stage.figure("gap_seconds", longest_gap(stage.site), most=125)
    act.check()


@pytest.mark.row("23", "10 % of the calls answered 5xx", "99.9 % succeed; at most 15 % retries")
def test_one_call_in_ten_fails(stage):
    act = stage.launch(SHORT, provider={"error_rate": 0.1})
    act.finish(240)
    failed = act.scores("error_class <> ''")
    stage.figure("failed_share", failed / act.load.trials, most=0.001)
    stage.figure("retried_share", act.calls() / act.load.trials - 1, most=0.15)
    act.check(same_table=not failed, state=("completed", "completed_with_errors"))


@pytest.mark.row(
    "24",
    "the key is revoked in mid-run, then replaced",
    "in all, paused after 3 in a row + slots; resumed and retried, same table",
)
def test_the_key_is_revoked(stage):
    act = stage.launch(SHORT, until=0.3)
    refuse_until_paused(act, {"do": "key"}, in_a_row=3)
    is_told = "in a row failed with “credentials”" in act.reason
    stage.expect(is_told, f"it says {act.reason}")
    stage.site.simulator.play()
    stage.site.person.ask("change_endpoint", name=act.endpoint, key=f"{stage.site.key}-new")
    act.command("resume")
    act.finish(120)
    lost = act.command("retry")["trials"]
    stage.figure("trials_lost", lost, most=stage.figures["failed_calls"])
    act.finish(60)
    act.check(retried=lost)


@pytest.mark.row("25", "every call refused with 400", "in all, paused after 20 in a row + slots")
def test_everything_is_refused(stage):
    act = stage.launch(SHORT, is_known=False)
    refuse_until_paused(act, {"do": "status", "status": 400}, in_a_row=20)
    check_page(act)
    act.command("cancel")


def refuse_until_paused(act, order, *, in_a_row):
    act.site.simulator.play({"match": {}, "times": None, **order})
    wait_for(lambda: act.state == "paused", 60, "the pause")
    count_failed(act, order["do"], in_a_row)


def count_failed(act, fault, in_a_row):
    """Over both workers: so many in a row, and what was in flight by then. Answers that are still
    under way when it begins interrupt the row, and each of them lets one more call go."""
    rows = read_ledger(act.site)
    failed = [row for row in rows if row["fault"] == fault]
    last_good = max((row["end"] for row in rows if row["fault"] is None), default=0.0)
    row = sum(one["end"] > last_good for one in failed)
    act.stage.figure("failed_in_a_row", row, most=in_a_row + act.load.slots)
    act.stage.figure("failed_calls", len(failed), most=in_a_row + 2 * act.load.slots)
