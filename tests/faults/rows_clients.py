"""Rows 30 to 37, 41 and 42: launches in a hurry, changes of mind, equal work, too much work."""

from __future__ import annotations

import time
from functools import partial
from typing import Any
from zlib import crc32

from tests.faults.checker import check_counters, check_page, read_ledger
from tests.faults.cluster import wait_until
from tests.faults.stage import ENDED, Act, Load, Stage
from workers.simulator.demo import DEMO_PROMPTS

SHORT = Load(trials=240, latency_ms=100, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)
DEADLINE_SECONDS = 5
OLD_KEY_SECONDS = 2.0  # workers look at the endpoints twice a second
HUGE = 100_000
ONE_PROMPT = [DEMO_PROMPTS[1]._asdict()]


def launch_twenty_times(stage: Stage) -> None:
    """Row 30: the same launch from twenty threads at once."""
    document = stage.document(Load(30, 10, 10))
    name = stage.cluster.make_endpoint()
    document["models"] = [f"{name}/sim-large"]
    stage.cluster.quiet()
    ask = stage.cluster.person.ask
    key = f"twenty-{stage.random.random()}"
    before = stage.cluster.truth.count("runs_run", "1 = 1")
    runs = ask("launch_many_times", document=document, key=key, times=20)
    runs.append(ask("launch", document=document, key=key))  # a replay, later
    stage.verdict.figure("answers", len(runs))
    stage.verdict.figure("runs_named", len(set(runs)), most=1)
    stored = stage.cluster.truth.count("runs_run", "1 = 1") - before
    stage.verdict.figure("runs_stored", stored, most=1)
    truth = stage.cluster.truth
    wait_until(lambda: truth.state(runs[0]) in ENDED, 60, "the one run")  # or it meets the next row


def stop_in_flight(stage: Stage) -> None:
    """Row 32: paused with all slots in use, resumed, and cancelled while every call hangs."""
    limits = {"timeout_seconds": DEADLINE_SECONDS}
    load = stage.load(SHORT._replace(latency_ms=500), Load(1998, 1000, 20))
    act = stage.launch(load, limits=limits, is_known=False)
    simulator, state = stage.cluster.simulator, partial(stage.cluster.truth.state, act.run)
    act.wait_for_share(0.1)
    asked = simulator.ledger()["uptime_seconds"]
    act.command("pause")
    act.wait_for(lambda: state() == "paused", 30, "the pause")
    figure_last_call(stage, "pause_last_call_seconds", asked)
    simulator.play({"match": {}, "times": None, "do": "hang"})
    act.command("resume")
    act.wait_for(lambda: simulator.ledger()["in_flight"] == load.slots, 30, "all calls hang")
    kept = act.done()
    asked = simulator.ledger()["uptime_seconds"]
    act.command("cancel")
    act.wait_for(lambda: state() == "cancelled", 30, "the cancellation")
    act.wait_for(lambda: simulator.ledger()["in_flight"] == 0, 30, "no call flies")
    took = simulator.ledger()["uptime_seconds"] - asked
    stage.verdict.figure("cancelled_seconds", took, most=stage.bar(DEADLINE_SECONDS + 2))
    figure_last_call(stage, "cancel_last_call_seconds", asked)
    stage.verdict.expect(act.done() >= kept, "rows were lost")
    check_counters(stage.cluster, act.run, stage.verdict)
    check_page(stage.cluster, act.run, stage.verdict)


def figure_last_call(stage: Stage, name: str, asked: float) -> None:
    """How long after it was asked for the last call arrived."""
    last = max(row["arrival"] for row in read_ledger(stage.cluster))
    stage.verdict.figure(name, max(0.0, last - asked), most=stage.bar(1.0))


def pause_and_resume(stage: Stage) -> None:
    """Row 33: paused and resumed twenty times, in every rhythm."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    times, dropped = 20 if stage.is_full else 5, 0
    for _ in range(times):
        time.sleep(stage.random.uniform(0.0, 0.5))
        cancels = stage.random.random() < 0.5
        act.command("pause", now=cancels)
        dropped += cancels
        time.sleep(stage.random.uniform(0.0, 0.5))
        act.command("resume")
    act.finish(120)
    act.check(wasted=dropped * act.load.slots)  # "now" cancels calls, which are asked again


def stampede(stage: Stage) -> None:
    """Row 35: as many equal trials as there are, twice."""
    rows = 1000 if stage.is_full else 150
    dataset = f"equal-{rows}"
    stage.cluster.person.ask("make_dataset", name=dataset, rows=rows, equal=True)
    load = Load(trials=2 * rows, latency_ms=150, slots=50)
    act = stage.launch(load, dataset=dataset, prompts=ONE_PROMPT, repeats=2, is_known=False)
    act.finish(90)
    stage.verdict.figure("calls_per_repeat", act.calls() / 2, most=1)
    act.check(same_table=False)


def damage_cache(stage: Stage) -> None:
    """Row 36: other bytes in a third of the cached answers; then the same run again."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.finish(90)
    damaged = stage.cluster.change_rows(
        "UPDATE runs_cachedreply SET text = text || '0' WHERE substr(key, 1, 1) < '5'"
    )
    stage.verdict.at_least("damaged", damaged, 1)
    before = act.calls()
    document = stage.document(act.load)
    document["models"] = [f"{act.endpoint}/sim-large"]
    again = Act(
        stage, stage.cluster.person.ask("launch", document=document), act.load, act.reference, ""
    )
    again.finish(90)
    asked = act.calls() - before
    stage.verdict.figure("asked_again", asked, most=damaged)
    stage.verdict.expect(asked == damaged, f"{damaged} were damaged, {asked} asked again")
    again.check()


def edit_in_mid_run(stage: Stage) -> None:
    """Row 37: the endpoint's key and prices change, and the dataset gets another version."""
    cluster, load = stage.cluster, stage.load(SHORT, STANDARD)
    edited = {"name": f"edited-{stage.random.random()}", "rows": load.trials // len(DEMO_PROMPTS)}
    cluster.person.ask("make_dataset", **edited)
    act = stage.launch(load, dataset=edited["name"])
    act.wait_for_share(0.3)
    prices = {"sim-large": {"input": 2.5, "output": 10.0}}
    cluster.person.ask("make_dataset", **edited, again=True)
    asked = cluster.simulator.ledger()["uptime_seconds"]
    new = f"{cluster.key}-new"
    cluster.person.ask("change_endpoint", name=act.endpoint, key=new, prices=prices)
    act.finish(90)
    calls = read_ledger(cluster)
    fresh = f"{crc32(f'Bearer {new}'.encode()):08x}"
    old = [row["arrival"] - asked for row in calls if row["key"] != fresh]
    stage.verdict.figure("old_key_seconds", max(old), most=stage.bar(OLD_KEY_SECONDS))
    stage.verdict.at_least("calls_with_new_key", len(calls) - len(old), 1)
    act.check(wasted=0)


def small_beside_huge(stage: Stage) -> None:
    """Row 41: two small runs are launched behind a huge one."""
    slots = 20
    small = Load(trials=201, latency_ms=50, slots=slots)
    alone = stage.launch(small)
    alone.finish(60)
    alone_seconds = stage.verdict.figures.pop("run_seconds")
    huge = stage.launch(Load(999, 50, slots), repeats=HUGE // 999, is_known=False)
    huge.wait_for_share(0.5)
    document = stage.document(small, cache="off")
    document["models"] = [f"{huge.endpoint}/sim-large"]
    ask = stage.cluster.person.ask
    runs = [ask("launch", document=document) for _ in range(2)]
    began = time.monotonic()
    ended = ("completed", "completed_with_errors")
    truth = stage.cluster.truth
    huge.wait_for(lambda: all(truth.state(run) in ended for run in runs), 60, "the small runs")
    # Three runs share the slots: each has a third of them, and needs three times as long.
    share = (time.monotonic() - began) / max(alone_seconds, 0.5)
    stage.verdict.figure("small_runs_slower_by", share, most=4)
    planned = truth.one(f"SELECT planned FROM runs_run WHERE id = {huge.run}")
    stage.verdict.at_least("trials_of_the_huge_one", planned, HUGE - 999)
    huge.command("cancel")


def refuse_a_million(stage: Stage) -> None:
    """Row 42: a run of a billion trials is refused at once, and nothing is stored."""
    document = stage.document(Load(30, 10, 10))
    name = stage.cluster.make_endpoint()
    document["models"] = [f"{name}/sim-large"]
    prompts = [{"name": f"p{at}", "user": "{{question}}"} for at in range(500)]
    models: list[Any] = [
        {"endpoint": name, "model": "sim-large", "parameters": {"seed": at}} for at in range(100)
    ]
    document |= {"prompts": prompts, "models": models, "repeats": 1000}
    before = stage.cluster.truth.count("runs_run", "1 = 1")
    stage.cluster.visitor.post("/runs", {"configuration": {}})  # loads what every launch needs
    memory = stage.cluster.web.forget_peak()
    began = time.monotonic()
    answer = stage.cluster.visitor.post("/runs", {"configuration": document})
    stage.verdict.figure("answer_seconds", time.monotonic() - began, most=stage.bar(0.3))
    stage.verdict.figure("growth_mb", stage.cluster.web.peak_memory_mb() - memory, most=50)
    said = answer.body.decode()
    stage.verdict.expect(answer.status == 422, f"it was answered {answer.status}")
    stage.verdict.expect("trials are more than" in said, f"it said {said[:200]}")
    after = stage.cluster.truth.count("runs_run", "1 = 1")
    stage.verdict.figure("runs_stored", after - before, most=0)
