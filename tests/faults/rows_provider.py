"""Rows 17 to 25: the provider hangs, drips, cuts, fails, refuses, or says that it is too much."""

from __future__ import annotations

import time

from tests.faults.checker import read_ledger
from tests.faults.rows_redis import longest_gap
from tests.faults.stage import Act, Load, Stage

SHORT = Load(trials=180, latency_ms=100, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)
DEADLINE_SECONDS = 2.0
ON_ITS_WAY_SECONDS = 0.1  # the deadline runs before a call has arrived
PATIENCE = 8  # attempts: of 2,000 trials none shall meet the fault so often by chance


def hang(stage: Stage) -> None:
    """Row 17: one call in twenty is never answered."""
    slow_answers(stage, "hang")


def drip(stage: Stage) -> None:
    """Row 18: one call in twenty is answered a byte at a time."""
    slow_answers(stage, "drip")


def slow_answers(stage: Stage, fault: str) -> None:
    limits = {"timeout_seconds": DEADLINE_SECONDS, "attempts": PATIENCE}
    act = stage.launch(stage.load(SHORT, STANDARD), limits=limits)
    stage.cluster.simulator.change(**{f"{fault}_rate": 0.05})
    act.finish(180)
    rows = read_ledger(stage.cluster)
    held = [row["end"] - row["arrival"] for row in rows if row["fault"] == fault]
    stage.verdict.at_least("slow_calls", len(held), 1)
    stage.verdict.figure("longest_call_seconds", max(held), most=stage.bar(DEADLINE_SECONDS + 1))
    if stage.is_full:  # of a short run the beginning is a large part
        stage.verdict.at_least("slots_in_use", slots_in_use(rows, act.load), 0.9)
        act.check(cut_after=DEADLINE_SECONDS - ON_ITS_WAY_SECONDS)
    else:
        act.check(cut_faults=(fault,))


def slots_in_use(rows: list[dict[str, float]], load: Load) -> float:
    """The share of slot time that calls filled until nine tenths of them had begun."""
    end = sorted(row["arrival"] for row in rows)[int(0.9 * len(rows))]
    begin = rows[0]["arrival"]
    used = sum(max(0.0, min(row["end"], end) - row["arrival"]) for row in rows)
    return used / (load.slots * (end - begin))


def reset(stage: Stage) -> None:
    """Row 19: one connection in ten is reset in mid-body."""
    act = stage.launch(stage.load(SHORT, STANDARD), limits={"attempts": PATIENCE})
    stage.cluster.simulator.change(reset_rate=0.1)
    act.finish(180)
    act.check()


def outage(stage: Stage) -> None:
    """Row 20: everything is answered 503 for a while."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    simulator = stage.cluster.simulator
    simulator.play({"match": {}, "times": None, "do": "status", "status": 503})
    before = act.calls()
    time.sleep(60 if stage.is_full else 10)
    stage.verdict.figure("calls_in_outage", act.calls() - before, most=act.load.slots + 20)
    simulator.play()
    calls = act.calls()
    resumed = act.wait_for(lambda: act.calls() >= calls + 5, 120, "calls after the return")
    stage.verdict.figure("resumed_seconds", resumed, most=20)
    act.finish(120)
    act.check()


def storm(stage: Stage) -> None:
    """Row 21: more than ten calls at once are answered 429."""
    load = stage.load(Load(180, 100, 20), Load(1998, 200, 20))
    act = stage.launch(load, endpoint={"adaptive": True}, limits={"adaptive": True})
    stage.cluster.simulator.change(max_in_flight=10)
    act.finish(240)
    amplification = act.calls() / act.load.trials
    most = 1.15 if stage.is_full else 2.0  # the first seconds weigh more in a short run
    stage.verdict.figure("amplification", amplification, most)
    act.check()


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
    act = stage.launch(stage.load(SHORT, STANDARD))
    stage.cluster.simulator.change(error_rate=0.1)
    act.finish(240)
    failed = stage.cluster.truth.count("runs_score", f"run_id = {act.run} AND error_class <> ''")
    stage.verdict.figure("failed_share", failed / act.load.trials, most=0.001)
    stage.verdict.figure("retried_share", act.calls() / act.load.trials - 1, most=0.15)
    act.check(same_table=not failed, state=("completed", "completed_with_errors"))


def revoke_key(stage: Stage) -> None:
    """Row 24: the key is refused in the middle of a run, then replaced."""
    act = stage.launch(stage.load(SHORT, STANDARD), is_known=False)
    act.wait_for_share(0.3)
    refuse_until_paused(stage, act, {"do": "key"}, in_a_row=3)
    stage.cluster.simulator.play()
    stage.cluster.person.ask("change_endpoint", name=act.endpoint, key=f"{stage.cluster.key}-new")
    stage.cluster.person.ask("resume", run=act.run)
    act.finish(120)
    act.check(same_table=False, state=("completed", "completed_with_errors"))


def refuse_all(stage: Stage) -> None:
    """Row 25: everything is refused with 400."""
    act = stage.launch(stage.load(SHORT, STANDARD), is_known=False)
    refuse_until_paused(stage, act, {"do": "status", "status": 400}, in_a_row=20)
    stage.cluster.person.ask("cancel", run=act.run)


def refuse_until_paused(stage: Stage, act: Act, order: dict[str, object], *, in_a_row: int) -> None:
    stage.cluster.simulator.play({"match": {}, "times": None, **order})
    before = act.calls()
    act.wait_for(lambda: stage.cluster.truth.state(act.run) == "paused", 60, "the pause")
    most = 2 * (in_a_row + act.load.slots)  # each of two workers counts its own row of refusals
    stage.verdict.figure("calls_until_pause", act.calls() - before, most=most)
