"""Rows 17 to 25: the provider hangs, drips, cuts, fails, refuses, or says that it is too much."""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import mean
from typing import Any

from tests.faults.checker import check_page, read_ledger
from tests.faults.rows_redis import longest_gap
from tests.faults.stage import BUSY_FACTOR, Act, Load, Stage

SHORT = Load(trials=180, latency_ms=100, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)
DEADLINE_SECONDS = 2.0
ON_ITS_WAY_SECONDS = 0.1  # the deadline runs before a call has arrived
BREAKER_ROW, PROBE_SECONDS = 5, 15  # failures until the breaker opens, then a probe so often
COOLDOWN_SECONDS = 15  # in which 429s are one episode
SETTLE_SECONDS = 60
PATIENCE = 8  # attempts: of 2,000 trials none shall meet the fault so often by chance


def hang(stage: Stage) -> None:
    """Row 17: one call in twenty is never answered."""
    slow_answers(stage, "hang")


def drip(stage: Stage) -> None:
    """Row 18: one call in twenty is answered a byte at a time."""
    slow_answers(stage, "drip")


def slow_answers(stage: Stage, fault: str) -> None:
    limits = {"timeout_seconds": DEADLINE_SECONDS, "attempts": PATIENCE}
    provider = {f"{fault}_rate": 0.05}
    act = stage.launch(stage.load(SHORT, STANDARD), limits=limits, provider=provider)
    act.finish(180)
    rows = read_ledger(stage.cluster)
    held = [row["end"] - row["arrival"] for row in rows if row["fault"] == fault]
    stage.verdict.at_least("slow_calls", len(held), 1)
    stage.verdict.figure("longest_call_seconds", max(held), most=stage.bar(DEADLINE_SECONDS + 1))
    # Of a short run the beginning is a large part, and others may work beside it.
    least = 0.9 if stage.is_full else 0.9 / BUSY_FACTOR
    stage.verdict.at_least("throughput_share", throughput_share(rows, act.load, fault), least)
    if stage.is_full:
        act.check(cut_after=DEADLINE_SECONDS - ON_ITS_WAY_SECONDS)
    else:
        act.check(cut_faults=(fault,))


def throughput_share(rows: list[dict[str, Any]], load: Load, fault: str) -> float:
    """How many calls were answered, until nine tenths of all had begun, of those that the slots
    could have answered which no slow call held."""
    end = sorted(row["arrival"] for row in rows)[int(0.9 * len(rows))]
    seconds = end - rows[0]["arrival"]
    slow = sum(
        max(0.0, min(row["end"], end) - row["arrival"]) for row in rows if row["fault"] == fault
    )
    took = [row["end"] - row["arrival"] for row in rows if row["fault"] is None]
    answered = sum(row["end"] <= end for row in rows if row["fault"] is None)
    return float(answered / ((load.slots * seconds - slow) / mean(took)))


def reset(stage: Stage) -> None:
    """Row 19: one connection in ten is reset in mid-body."""
    limits, provider = {"attempts": PATIENCE}, {"reset_rate": 0.1}
    act = stage.launch(stage.load(SHORT, STANDARD), limits=limits, provider=provider)
    act.finish(180)
    resets = stage.cluster.simulator.ledger()["by_fault"].get("reset", 0)
    stage.verdict.at_least("resets", resets, 1)
    retries = act.calls() - act.load.trials
    stage.verdict.expect(retries == resets, f"{resets} resets led to {retries} retries")
    act.check(wasted=resets)


def outage(stage: Stage) -> None:
    """Row 20: everything is answered 503 for a while."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    simulator = stage.cluster.simulator
    simulator.play({"match": {}, "times": None, "do": "status", "status": 503})
    seconds = 60 if stage.is_full else 10
    time.sleep(seconds)
    probes = -(-seconds // PROBE_SECONDS)
    count_failed(stage, act, "status", in_a_row=BREAKER_ROW + probes)
    simulator.play()
    calls = act.calls()
    resumed = act.wait_for(lambda: act.calls() >= calls + 5, 120, "calls after the return")
    stage.verdict.figure("resumed_seconds", resumed, most=20)
    act.finish(120)
    act.check()


def storm(stage: Stage) -> None:
    """Row 21: more than ten calls at once are answered 429."""
    load = stage.load(Load(180, 100, 20), Load(1998, 200, 20))
    adaptive, provider = {"adaptive": True}, {"max_in_flight": 10}
    act = stage.launch(load, endpoint=adaptive, limits=adaptive, provider=provider, held_at=0)
    act.wait_for(lambda: is_any_refused(stage), 60, "an eleventh call beside ten")
    act.let_go()
    act.finish(240)
    amplification = act.calls() / act.load.trials
    most = 1.15 if stage.is_full else 2.0  # the first seconds weigh more in a short run
    stage.verdict.figure("amplification", amplification, most)
    check_cuts(stage, act)
    act.check()


def is_any_refused(stage: Stage) -> bool:
    return any(not row["accepted"] for row in read_ledger(stage.cluster))


def check_cuts(stage: Stage, act: Act) -> None:
    """One cut for each episode, and what is left settles at what the provider takes."""
    cuts = [event["second"] for event in act.events("limit") if "429" in event["reason"]]
    stage.verdict.at_least("cuts", len(cuts), 1)
    apart = min((later - earlier for earlier, later in pairwise(cuts)), default=COOLDOWN_SECONDS)
    stage.verdict.expect(apart >= COOLDOWN_SECONDS - 1, f"two cuts were only {apart} s apart")
    rows = read_ledger(stage.cluster)
    late = [row for row in rows if row["arrival"] > rows[0]["arrival"] + SETTLE_SECONDS]
    refused = sum(not row["accepted"] for row in late)
    stage.verdict.figure("refused_share_after_60_s", refused / max(1, len(late)), most=0.05)


def absurd_waits(stage: Stage) -> None:
    """Row 22: 429 without a header, and with an hour in it."""
    act = stage.launch(Load(60, 50, 5))
    stage.cluster.simulator.play(
        {"match": {}, "times": 3, "do": "status", "status": 429},
        {"match": {}, "times": 1, "do": "status", "status": 429, "retry_after": 3600},
    )
    act.finish(200)
    stage.verdict.figure("gap_seconds", longest_gap(act), most=125)
    act.check()


def random_errors(stage: Stage) -> None:
    """Row 23: one call in ten is answered 500, 502 or 503."""
    act = stage.launch(stage.load(SHORT, STANDARD), provider={"error_rate": 0.1})
    act.finish(240)
    failed = stage.cluster.truth.count("runs_score", f"run_id = {act.run} AND error_class <> ''")
    stage.verdict.figure("failed_share", failed / act.load.trials, most=0.001)
    stage.verdict.figure("retried_share", act.calls() / act.load.trials - 1, most=0.15)
    act.check(same_table=not failed, state=("completed", "completed_with_errors"))


def revoke_key(stage: Stage) -> None:
    """Row 24: the key is refused in the middle of a run, then replaced; what it cost is retried."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    refuse_until_paused(stage, act, {"do": "key"}, in_a_row=3)
    reason = stage.cluster.truth.one(f"SELECT reason FROM runs_run WHERE id = {act.run}")
    stage.verdict.expect("in a row failed with “credentials”" in reason, f"it says {reason}")
    stage.cluster.simulator.play()
    stage.cluster.person.ask("change_endpoint", name=act.endpoint, key=f"{stage.cluster.key}-new")
    act.command("resume")
    act.finish(120)
    lost = act.command("retry")["trials"]
    stage.verdict.figure("trials_lost", lost, most=stage.verdict.figures["failed_calls"])
    act.finish(60)
    act.check(retried=lost)


def refuse_all(stage: Stage) -> None:
    """Row 25: everything is refused with 400."""
    act = stage.launch(stage.load(SHORT, STANDARD), is_known=False)
    refuse_until_paused(stage, act, {"do": "status", "status": 400}, in_a_row=20)
    check_page(stage.cluster, act.run, stage.verdict)
    act.command("cancel")


def refuse_until_paused(stage: Stage, act: Act, order: dict[str, Any], *, in_a_row: int) -> None:
    stage.cluster.simulator.play({"match": {}, "times": None, **order})
    act.wait_for(lambda: stage.cluster.truth.state(act.run) == "paused", 60, "the pause")
    count_failed(stage, act, str(order["do"]), in_a_row)


def count_failed(stage: Stage, act: Act, fault: str, in_a_row: int) -> None:
    """Over both workers: so many in a row, and what was in flight by then. Answers that are still
    under way when it begins interrupt the row, and each of them lets one more call go."""
    rows = read_ledger(stage.cluster)
    failed = [row for row in rows if row["fault"] == fault]
    last_good = max((row["end"] for row in rows if row["fault"] is None), default=0.0)
    row = sum(one["end"] > last_good for one in failed)
    stage.verdict.figure("failed_in_a_row", row, most=in_a_row + act.load.slots)
    stage.verdict.figure("failed_calls", len(failed), most=in_a_row + 2 * act.load.slots)
