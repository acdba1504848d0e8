"""Launches in a hurry, changes of mind, equal work, too much work."""

import time
from concurrent.futures import ThreadPoolExecutor
from zlib import crc32

import pytest

from tests.faults.checker import check_counters, check_page, read_ledger
from tests.faults.stage import ENDED, Act, Load, wait_for
from tests.harness.processes import forget_peak_memory, memory_mb
from workers.simulator.demo import DEMO_PROMPTS

SHORT = Load(trials=240, latency_ms=100, slots=10)
TINY = Load(30, 10, 10)
DEADLINE_SECONDS = 5
OLD_KEY_SECONDS = 2.0  # workers look at the endpoints twice a second
HUGE = 100_000
AT_ONCE = 20
LEAVERS = 10
REFUSED = (409, 422)


def own_document(stage, load=TINY, endpoint="", **changes):
    """Of a run that a person launches without the stage's help."""
    document = stage.document(load, **changes)
    document["models"] = [f"{endpoint or stage.site.make_endpoint()}/sim-large"]
    return document


def wait_until_over(stage, runs, name):
    """Or they meet the next row."""
    wait_for(lambda: all(stage.site.database.state(run) in ENDED for run in runs), 60, name)


@pytest.mark.row("30", "the same launch 20 times at once, and once more", "1 run", is_short=True)
def test_the_same_launch_many_times_at_once(stage):
    document, ask, count = own_document(stage), stage.site.person.ask, stage.site.database.count
    stage.quiet()
    key, before = f"twenty-{stage.random.random()}", count("runs_run")
    runs = ask("launch_many_times", document=document, key=key, times=AT_ONCE)
    runs.append(ask("launch", document=document, key=key))  # a replay, later
    stage.figure("answers", len(runs))
    stage.figure("runs_named", len(set(runs)), most=1)
    stage.figure("runs_stored", count("runs_run") - before, most=1)
    wait_until_over(stage, runs[:1], "the one run")


@pytest.mark.row(
    "31",
    "10 clients leave before the answer and send again; 20 send the same at once",
    "1 run per key, another body refused",
)
def test_clients_leave_before_the_answer(stage):
    """Some leave at once, some a little later; all send it again. Then twenty at once."""
    document, visitor = own_document(stage), stage.site.visitor
    stage.quiet()

    def launch(key, **changes):
        answer = visitor.post("/runs", {"configuration": {**document, **changes}}, key)
        return answer.status, answer.json().get("id")

    keys = [f"left-{stage.random.random()}" for _ in range(LEAVERS)]
    for place, key in enumerate(keys):
        connection = visitor.send("/runs", {"configuration": document}, key)
        time.sleep(0.01 * place)  # how late it leaves
        connection.close()
    answers = [launch(key) for key in keys]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        at_once = list(threads.map(launch, ["at-once"] * AT_ONCE))
    wrong = [status for status, _ in answers + at_once if status != 202]
    stage.figure("not_accepted", len(wrong), most=0)
    stage.figure("runs_of_twenty_at_once", len({run for _, run in at_once}), most=1)
    stored = stage.site.database.count("runs_run", "idempotency_key LIKE 'left-%'")
    stage.figure("runs_of_those_who_left", stored, most=LEAVERS)
    stage.expect(len({run for _, run in answers}) == LEAVERS, "a launch was lost")
    status, _ = launch(keys[0], name="another")
    stage.expect(status in REFUSED, f"another body under the same key gave {status}")
    wait_until_over(stage, [run for _, run in answers + at_once[:1]], "the runs")


@pytest.mark.row(
    "32",
    "paused with all slots in use; resumed, and cancelled while every call hangs",
    "no call starts 1 s after either; cancelled within deadline + 2 s",
    is_short=True,
)
def test_stopped_with_calls_in_flight(stage):
    limits = {"timeout_seconds": DEADLINE_SECONDS}
    loads = SHORT._replace(latency_ms=500), Load(1998, 1000, 20)
    act = stage.launch(*loads, limits=limits, is_known=False)
    simulator = stage.site.simulator
    act.wait_for_share(0.1)
    asked = simulator.ledger()["uptime_seconds"]
    act.command("pause")
    wait_for(lambda: act.state == "paused", 30, "the pause")
    figure_last_call(stage, "pause_last_call_seconds", asked)
    simulator.play({"match": {}, "times": None, "do": "hang"})
    act.command("resume")
    slots = act.load.slots
    wait_for(lambda: simulator.ledger()["in_flight"] == slots, 30, "all calls hang")
    kept, asked = act.done(), simulator.ledger()["uptime_seconds"]
    act.command("cancel")
    wait_for(lambda: act.state == "cancelled", 30, "the cancellation")
    wait_for(lambda: simulator.ledger()["in_flight"] == 0, 30, "no call flies")
    took = simulator.ledger()["uptime_seconds"] - asked
    stage.figure("cancelled_seconds", took, most=stage.bar(DEADLINE_SECONDS + 2))
    figure_last_call(stage, "cancel_last_call_seconds", asked)
    stage.expect(act.done() >= kept, "rows were lost")
    check_counters(act)
    check_page(act)


def figure_last_call(stage, name, asked):
    """How long after it was asked for the last call arrived."""
    last = max(row["arrival"] for row in read_ledger(stage.site))
    stage.figure(name, max(0.0, last - asked), most=stage.bar(1.0))


@pytest.mark.row(
    "33",
    "paused and resumed 20 times",
    "same table; wasted calls at most the slots for each pause that cancels",
)
def test_paused_and_resumed_in_every_rhythm(stage):
    act = stage.launch(SHORT)
    dropped = 0
    for _ in range(20 if stage.is_full else 5):
        time.sleep(stage.random.uniform(0.0, 0.5))  # the rhythm
        cancels = stage.random.random() < 0.5
        act.command("pause", now=cancels)
        dropped += cancels
        time.sleep(stage.random.uniform(0.0, 0.5))
        act.command("resume")
    act.finish(120)
    act.check(wasted=dropped * act.load.slots)  # "now" cancels calls, which are asked again


@pytest.mark.row("35", "1,000 equal trials, twice", "1 call per repeat", is_short=True)
def test_equal_trials(stage):
    rows = 1000 if stage.is_full else 150
    dataset, prompts = f"equal-{rows}", [DEMO_PROMPTS[1]._asdict()]
    stage.site.person.ask("make_dataset", name=dataset, rows=rows, equal=True)
    load = Load(trials=2 * rows, latency_ms=150, slots=50)
    act = stage.launch(load, None, dataset=dataset, prompts=prompts, repeats=2, is_known=False)
    act.finish(90)
    stage.figure("calls_per_repeat", act.calls() / 2, most=1)
    act.check(same_table=False)


@pytest.mark.row(
    "36",
    "other bytes in a third of the cached answers",
    "same table; exactly the damaged ones are asked again",
)
def test_cached_answers_are_damaged(stage):
    """Then the same run again."""
    act = stage.launch(SHORT)
    act.finish(90)
    damaged = stage.site.database.change(
        "UPDATE runs_cachedreply SET text = text || '0' WHERE substr(key, 1, 1) < '5'"
    )
    stage.figure("damaged", damaged, least=1)
    before = act.calls()
    run = stage.site.person.ask("launch", document=own_document(stage, act.load, act.endpoint))
    again = Act(stage, run, act.load, act.reference)
    again.finish(90)
    asked = act.calls() - before
    stage.figure("asked_again", asked, most=damaged)
    stage.expect(asked == damaged, f"{damaged} were damaged, {asked} asked again")
    again.check()


@pytest.mark.row(
    "37",
    "key and prices of the endpoint and the dataset edited in mid-run",
    "same table, 0 wasted calls; the old key is sent for at most 2 s",
)
def test_edited_in_mid_run(stage):
    site, trials = stage.site, 1998 if stage.is_full else SHORT.trials
    edited = {"name": f"edited-{stage.random.random()}", "rows": trials // len(DEMO_PROMPTS)}
    site.person.ask("make_dataset", **edited)
    act = stage.launch(SHORT, dataset=edited["name"], until=0.3)
    prices = {"sim-large": {"input": 2.5, "output": 10.0}}
    site.person.ask("make_dataset", **edited, again=True)
    asked = site.simulator.ledger()["uptime_seconds"]
    new = f"{site.key}-new"
    site.person.ask("change_endpoint", name=act.endpoint, key=new, prices=prices)
    act.finish(90)
    calls = read_ledger(site)
    fresh = f"{crc32(f'Bearer {new}'.encode()):08x}"
    old = [row["arrival"] - asked for row in calls if row["key"] != fresh]
    stage.figure("old_key_seconds", max(old), most=stage.bar(OLD_KEY_SECONDS))
    stage.figure("calls_with_new_key", len(calls) - len(old), least=1)
    act.check(wasted=0)


@pytest.mark.row(
    "41", "two runs of 200 trials behind one of 100,000", "at most 4 times as long as alone"
)
def test_small_runs_behind_a_huge_one(stage):
    small, database = Load(trials=201, latency_ms=50, slots=20), stage.site.database
    stage.launch(small, None).finish(60)
    alone_seconds = stage.figures.pop("run_seconds")
    huge = stage.launch(Load(999, 50, 20), None, repeats=HUGE // 999, is_known=False, until=0.5)
    document = own_document(stage, small, huge.endpoint, cache="off")
    runs = [stage.site.person.ask("launch", document=document) for _ in range(2)]
    began = time.monotonic()
    good = ("completed", "completed_with_errors")
    wait_for(lambda: all(database.state(run) in good for run in runs), 60, "the small runs")
    # Three runs share the slots: each has a third of them, and needs three times as long.
    share = (time.monotonic() - began) / max(alone_seconds, 0.5)
    stage.figure("small_runs_slower_by", share, most=4)
    planned = database.one(f"SELECT planned FROM runs_run WHERE id = {huge.run}")
    stage.figure("trials_of_the_huge_one", planned, least=HUGE - 999)
    huge.command("cancel")


@pytest.mark.row(
    "42",
    "a run of 300 million trials",
    "refused within 0.3 s, nothing stored; the web part grows by at most 50 MB",
)
def test_far_too_much_is_refused(stage):
    site, name = stage.site, stage.site.make_endpoint()
    prompts = [{"name": f"p{at}", "user": "{{question}}"} for at in range(100)]
    model = {"endpoint": name, "model": "sim-large"}
    models = [{**model, "parameters": {"seed": at}} for at in range(100)]
    wanted = {"prompts": prompts, "models": models, "repeats": 1000}
    document = own_document(stage, endpoint=name) | wanted
    before = site.database.count("runs_run")
    site.visitor.post("/runs", {"configuration": {}})  # loads what every launch needs
    memory = forget_peak_memory(site.web.pid)
    began = time.monotonic()
    answer = site.visitor.post("/runs", {"configuration": document})
    stage.figure("answer_seconds", time.monotonic() - began, most=stage.bar(0.3))
    stage.figure("growth_mb", memory_mb(site.web.pid, "VmHWM") - memory, most=50)
    said = answer.body.decode()
    stage.expect(answer.status == 422, f"it was answered {answer.status}")
    stage.expect("trials are more than" in said, f"it said {said[:200]}")
    stage.figure("runs_stored", site.database.count("runs_run") - before, most=0)
