"""Rows 30 to 37, 41 and 42: launches in a hurry, changes of mind, equal work, too much work."""

from __future__ import annotations

import time
from typing import Any

from tests.faults.checker import read_ledger
from tests.faults.cluster import wait_until
from tests.faults.person import Refused
from tests.faults.stage import ENDED, Act, Load, Stage
from workers.simulator.demo import DEMO_PROMPTS

SHORT = Load(trials=240, latency_ms=100, slots=10)
STANDARD = Load(trials=1998, latency_ms=100, slots=20)
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


def cancel_in_flight(stage: Stage) -> None:
    """Row 32: a run is cancelled with all slots in use."""
    act = stage.launch(stage.load(SHORT._replace(latency_ms=500), Load(1998, 1000, 20)))
    act.wait_for_share(0.1)
    asked = stage.cluster.simulator.ledger()["uptime_seconds"]
    stage.cluster.person.ask("cancel", run=act.run)
    act.finish(30)
    act.wait_for(lambda: stage.cluster.simulator.ledger()["in_flight"] == 0, 30, "no call flies")
    last = max(row["arrival"] for row in read_ledger(stage.cluster))
    stage.verdict.figure("last_call_seconds", max(0.0, last - asked), most=stage.bar(1.0))
    stored = stage.cluster.truth.one(f"SELECT done FROM runs_run WHERE id = {act.run}")
    stage.verdict.expect(stored == act.done(), "I5: rows and counters differ")
    stage.verdict.expect(stage.cluster.truth.state(act.run) == "cancelled", "it is not cancelled")


def pause_and_resume(stage: Stage) -> None:
    """Row 33: paused and resumed twenty times, in every rhythm."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    times = 20 if stage.is_full else 5
    for _ in range(times):
        time.sleep(stage.random.uniform(0.0, 0.5))
        stage.cluster.person.ask("pause", run=act.run, now=stage.random.random() < 0.5)
        time.sleep(stage.random.uniform(0.0, 0.5))
        stage.cluster.person.ask("resume", run=act.run)
    act.finish(120)
    act.check(wasted=times * act.load.slots)  # "now" cancels calls, which are asked again


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
    """Row 37: the endpoint's key and prices change. The provider takes any key: what is shown is
    that a change disturbs nothing, not which key the next call carries."""
    act = stage.launch(stage.load(SHORT, STANDARD))
    act.wait_for_share(0.3)
    ask = stage.cluster.person.ask
    prices = {"sim-large": {"input": 2.5, "output": 10.0}}
    ask("change_endpoint", name=act.endpoint, key=f"{stage.cluster.key}-new", prices=prices)
    act.finish(90)
    act.check(wasted=0)


def small_beside_huge(stage: Stage) -> None:
    """Row 41: two small runs are launched behind a huge one."""
    slots = 20
    small = Load(trials=99, latency_ms=50, slots=slots)
    alone = stage.launch(small)
    alone.finish(60)
    alone_seconds = stage.verdict.figures.pop("run_seconds")
    huge = stage.launch(Load(trials=2991, latency_ms=50, slots=slots), is_known=False)
    stage.cluster.simulator.change(latency_ms=small.latency_ms)
    huge.wait_for_share(0.05)
    document = stage.document(small, cache="off")
    document["models"] = [f"{huge.endpoint}/sim-large"]
    ask = stage.cluster.person.ask
    runs = [ask("launch", document=document) for _ in range(2)]
    began = time.monotonic()
    ended = ("completed", "completed_with_errors")
    truth = stage.cluster.truth
    huge.wait_for(lambda: all(truth.state(run) in ended for run in runs), 60, "the small runs")
    # Three runs share the slots: each has a third of them.
    share = (time.monotonic() - began) / max(alone_seconds, 0.5)
    stage.verdict.figure("small_runs_slower_by", share, most=4)
    ask("cancel", run=huge.run)


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
    began = time.monotonic()
    try:
        stage.cluster.person.ask("launch", document=document)
        stage.verdict.expect(False, "it was accepted")
    except Refused as refused:
        stage.verdict.expect("trials are more than" in str(refused), f"it said {refused}")
    stage.verdict.figure("answer_seconds", time.monotonic() - began, most=0.3)
    after = stage.cluster.truth.count("runs_run", "1 = 1")
    stage.verdict.figure("runs_stored", after - before, most=0)
