"""`manage.py run`, `watch` and `rerun`: launch, wait, judge, write."""

import csv
import json
from contextlib import nullcontext
from typing import Any
from xml.etree import ElementTree

import pytest

from runs.management.watching import Watcher, trouble_of
from runs.models import Chunk, ChunkState, Configuration, Dataset, Endpoint, Run, RunState
from runs.selectors.case_sources import positions_of
from runs.selectors.scores.columns import LINE
from runs.services.configurations import save_configuration
from runs.services.runs import create_run
from tests.commands.conftest import CASES, TRIALS, command, refused, write
from tests.harness.factories import add_score, make_dataset, make_run
from tests.runs.comparing_parts import make_scored
from tests.workers.working import running_worker
from workers.engine.kinds import read_configuration

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_file_is_run_by_the_workers_and_told_line_by_line(tmp_path, file, simulator):
    """With every output, which tell the same; what runs in this process then agrees."""
    simulator.change(latency_ms=30)
    outputs = {name: tmp_path / name for name in ("j.xml", "s.md", "e.csv", "e.jsonl")}
    with running_worker():
        ran = command(
            "run", file, "--set", "limits.max_concurrent=5", "--min-score", "2", "--max-cost", "0",
            "--junit", outputs["j.xml"], "--summary", outputs["s.md"], "--export", outputs["e.csv"],
        )  # fmt: skip
        again = command("watch", Run.objects.get().pk, "--export", outputs["e.jsonl"])
    assert (ran.exit_code, again.exit_code, again.done["verdict"]) == (100, 0, "passed")
    launch, *progress, done = ran.lines
    run = Run.objects.get()
    named = {"run_id": run.pk, "name": "sums", "address": f"/runs/{run.pk}/"}
    assert launch == {"event": "launch", "planned": TRIALS, **named}
    assert {line["event"] for line in progress} <= {"progress", "waiting"}
    assert (done["event"], done["state"]) == ("done", "completed")
    assert done["counts"] == {"planned": TRIALS, "done": TRIALS, "failed": 0, "cached": 0}
    assert run.document["limits"]["max_concurrent"] == 5
    assert simulator.ledger()["peak_in_flight"] <= 5
    check_outputs(outputs)
    check_that_this_process_agrees(file, simulator, done)


def check_outputs(outputs):
    suite = ElementTree.parse(outputs["j.xml"]).getroot()[0]
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert failed == {"score", "cost"}  # the price of the simulated models is not known here
    assert outputs["s.md"].read_text().startswith("### ❌ Failed: score, cost — `sums` · run ")
    rows = list(csv.DictReader(outputs["e.csv"].open(newline="")))
    records = [json.loads(line) for line in outputs["e.jsonl"].open()]
    assert [row["position"] for row in rows] == [str(number) for number in range(TRIALS)]
    assert [float(row["value"]) for row in rows] == [record["value"] for record in records]
    for name in ("question", "expected", "answer"):
        assert [row[name] for row in rows] == [record[name] for record in records]
    assert all(row["question"] and row["expected"] for row in rows)
    assert all(row["judgements"].startswith("numeric ") for row in rows)


def check_that_this_process_agrees(file, simulator, stored):
    gates, export = ("--baseline", "last", "--max-regressions", 0), file.with_name("here.jsonl")
    here = command("run", file, "--here", *gates, "--export", export)
    assert [line["run_id"] for line in here.lines if line["event"] == "launch"] == [None]
    assert Run.objects.count() == 1
    records = [json.loads(line) for line in export.open()]
    assert len(records) == TRIALS
    assert records[0].keys() == set(LINE)
    assert all(record["question"] and record["expected"] for record in records)
    assert (here.exit_code, here.done["counts"]["cached"]) == (0, TRIALS)
    assert simulator.ledger()["total"] == TRIALS
    assert here.done["score"] == stored["score"]
    for one, other in zip(here.done["candidates"], stored["candidates"], strict=True):
        assert all(one[what] == other[what] for what in ("name", "score", "failed"))
    assert all(line["latency_p50"] > 0 for line in stored["candidates"])
    assert here.done["comparison"]["pairs"] == TRIALS
    assert here.done["comparison"]["marks"] == []


def test_a_regression_against_the_baseline_fails_and_is_shown(tmp_path, file, document, simulator):
    names = [prompt["name"] for prompt in document["prompts"]]
    worse = {**document, "prompts": [{"name": name, "user": "Say nothing."} for name in names]}
    with running_worker():
        first = command("run", file, "--baseline", "last")
        same = command("run", file, "--baseline", first.done["run_id"], "--max-regressions", 0)
        fell = command(
            "run", write(tmp_path / "worse.yaml", worse), "--baseline", "last",
            "--max-regressions", 3, "--summary", tmp_path / "s.md",
        )  # fmt: skip
    assert first.exit_code == 0  # nothing to compare with yet, and it says so
    assert "baseline" in {line["event"] for line in first.lines}
    assert (same.exit_code, same.done["comparison"]["overall"]["mean"]) == (0, 0)
    assert fell.exit_code == 100
    failed = {check["name"] for check in fell.done["checks"] if not check["passed"]}
    assert failed == {"baseline", "regressions"}
    assert fell.done["comparison"]["regressions"] > 3
    assert "scored lower than in `sums`" in (tmp_path / "s.md").read_text()


HALF_REFUSED = {"models": ["simulated/sim-small", "simulated/sim-large:400"]}
ENDS: list[Any] = [
    ({"budget": {"calls": 15}}, [], 4),
    ({"models": ["simulated/sim-large:400"]}, [], 3),
    (HALF_REFUSED, ["--max-error-rate", "0.4"], 3),
    (HALF_REFUSED, ["--max-error-rate", "0.5"], 0),
]


@pytest.mark.parametrize("where", ["workers", "here"])
def test_exit_codes(file, document, simulator, where):
    wrong = {}
    with running_worker() if where == "workers" else nullcontext():
        for changes, options, exit_code in ENDS:
            simulator.reset()
            write(file, {**document, **changes, "cache": "off"})
            ran = command("run", file, *options, *(["--here"] if where == "here" else []))
            calls = simulator.ledger()["total"]
            has_advice = ran.done["advice"].keys() == ran.done["errors"].keys()
            found = (ran.exit_code, ran.done["exit_code"], has_advice)
            most = changes.get("budget", {}).get("calls", TRIALS)
            if found != (exit_code, exit_code, True) or calls > most:
                wrong[str(changes), *options] = (*found, calls)
    assert wrong == {}


def test_a_run_of_this_process_tells_what_its_judges_took(tmp_path, document, ada, simulator):
    rubric = {"judge": "simulated/sim-large", "rubric": "It is the right number."}
    judged = {**document, "models": ["simulated/sim-small"], "scorers": [{"rubric": rubric}]}
    roles = command("run", write(tmp_path / "judged.yaml", judged), "--here").done["roles"]
    assert (roles["evaluate"]["sent"], roles["judge"]["sent"]) == (24, 24)
    assert simulator.ledger()["by_model"] == {"sim-small": 24, "sim-large": 24}


def test_a_stored_configuration_is_run_by_its_name(ada, file, document, simulator):
    save_configuration(ada, "nightly", document)
    ran = command("run", "nightly", "--detach")
    assert ran.exit_code == 0
    assert [line["event"] for line in ran.lines] == ["launch"]
    assert Run.objects.get().name == "nightly"
    with running_worker():
        watched = command("watch", ran.lines[0]["run_id"])
    assert watched.done["state"] == "completed"


def test_nobody_works_so_it_says_what_to_do_and_goes_on(ada, document, simulator):
    told: list[str] = []
    workers = running_worker()

    class Listener:
        """Starts a worker as soon as the command asks for one, which it does again when that one
        was silent for some seconds."""

        def tell(self, event, text, **facts):
            told.append(text)
            if len(told) == 1:
                workers.__enter__()

        def progress(self, standing): ...

    run = create_run(ada, document)
    try:
        ended = Watcher(run, Listener(), ask_workers_every_seconds=0).wait()  # type: ignore[arg-type]
    finally:
        workers.__exit__(None, None, None)
    assert ended.state == RunState.COMPLETED
    assert "manage.py work" in told[0]


def test_what_a_run_waits_for_is_told():
    for state, reason, told in [
        (RunState.QUEUED, "", "one worker with `manage.py work`"),
        (RunState.RUNNING, "Waiting: endpoint simulated is paused", "endpoint simulated is paused"),
        (RunState.PAUSED, "Paused by bob: lunch", "Paused by bob: lunch. It goes on when"),
        (RunState.PAUSING, "The budget of 1 call is used up", "Pausing."),
    ]:
        assert told in trouble_of(Run(state=state, reason=reason))


def test_off_without_quotes_is_taken_in_a_file_and_after_set(file):
    assert command("run", file, "--detach", "--set", "cache=off").exit_code == 0
    file.write_text(f"{file.read_text()}\ncache: off\n")
    assert command("run", file, "--detach").exit_code == 0
    assert [read_configuration(run.document).cache for run in Run.objects.all()] == ["off", "off"]


BAD_INPUT = [
    (["absent.yaml"], "There is no file absent.yaml"),
    (["absent"], "no stored configuration 'absent'"),
    (["FILE", "--set", "limits.max_concurent=5"], "max_concurent"),
    (["FILE", "--set", "repeats"], "path=value"),
    (["FILE", "--set", "models.7=x/y"], "0 to 1"),
    (["FILE", "--set", "name.first=x"], "has no fields"),
    (["FILE", "--here", "--set", "models.0=absent/x"], "absent"),
    (["FILE", "--set", "cache=on"], "use, refresh or off"),
    (["FILE", "--user", "bob"], "no active account 'bob'"),
    (["FILE", "--baseline", "7"], "no run of this number"),
    (["FILE", "--baseline", "x"], "number of a run"),
    (["FILE", "--alpha", "0.1"], "add --baseline"),
    (["FILE", "--export", "scores.xlsx"], ".jsonl or .csv"),
    (["FILE", "--here", "--export", "winner.yaml"], ".jsonl or .csv"),  # only selections have one
    (["FILE", "--junit", "nowhere/j.xml"], "no folder"),
    (["FILE", "--detach", "--min-score", "1"], "does not wait"),
]


def test_bad_input_is_refused_before_anything_is_sent(file, endpoint, simulator):
    given = [([str(file) if word == "FILE" else word for word in words], told)
             for words, told in BAD_INPUT]  # fmt: skip
    assert [words for words, told in given if not refused("run", *words, told=told)] == []
    Endpoint.objects.filter(pk=endpoint.pk).update(kind="ollama", base_url="http://10.0.0.1:11434")
    told = "The endpoint simulated cannot be called. 10.0.0.1:11434"
    assert refused("run", file, "--here", told=told)
    assert (simulator.ledger()["total"], Run.objects.count()) == (0, 0)
    assert not Configuration.objects.exists()


def test_a_baseline_has_the_same_scorers_and_the_last_run_is_such_a_one(ada, file, document):
    questions = Dataset.objects.get(name="sums")
    exact = {**document, "scorers": ["exact"]}
    first, other, third = (
        make_scored(ada, questions, [1.0] * CASES, name="sums", document=one)
        for one in (document, exact, document)
    )
    assert refused("run", file, "--baseline", other.pk, told="other scorers")
    watched = command("watch", third.pk, "--baseline", "last")
    assert watched.done["comparison"]["base"]["run_id"] == first.pk
    lone = command("watch", first.pk, "--baseline", "last")
    assert (lone.exit_code, lone.done["comparison"]) == (0, None)
    assert "baseline" in {line["event"] for line in lone.lines}
    assert Run.objects.count() == 3


@pytest.fixture
def run(ada, endpoint):
    """Three trials; the second was wrong, the third failed."""
    run = make_run(ada, make_dataset(ada), done=3, scored=2, failed=1)
    trials = [[place, 0, place, 0] for place in range(3)]
    Chunk.objects.create(run=run, start=0, trials=trials, state=ChunkState.DONE)
    run.candidates.update(done=3, scored=2, failed=1)
    for place, case in enumerate(run.dataset.cases.order_by("position")):
        wrong = {"value": 0.0, "passed": False} if place == 1 else {}
        failed = {"error_class": "timeout", "error_message": "late"} if place == 2 else {}
        add_score(run, case, run.candidates.get(), place, **wrong, **failed)
    return run


def test_the_chosen_cases_make_a_new_run_if_they_make_sense_or_are_run_again_in_place(run):
    for options, told in [
        ([], "Say which trials"),
        (["--candidate", "nobody"], "has the key"),
        (["--trials", "3;4"], "as in 3,5,8"),
        (["--wrong", "--min-score", "0.5"], "--detach does not wait"),
    ]:
        ran = command("rerun", run.pk, *options, "--detach")
        assert ran.exit_code != 0, options
        assert told in ran.err
    assert Run.objects.count() == 1
    for options, rows in [
        (["--wrong"], [1]),
        (["--failed"], [2]),
        (["--trials", "0, 2"], [0, 2]),
        (["--status", "ok"], [0, 1]),
        (["--case", "1"], [1]),
        (["--candidate", "key0", "--wrong"], [1]),
    ]:
        ran = command("rerun", run.pk, *options, "--detach")
        assert ran.exit_code == 0, (options, ran.err)
        new = Run.objects.latest("pk")
        assert (list(positions_of(new)), new.rerun_of) == (rows, run), options
        assert [line["event"] for line in ran.lines] == ["rerun", "launch"]
    runs = Run.objects.count()
    assert command("rerun", run.pk, "--wrong", "--in-place", "--detach").exit_code == 0
    assert list(run.scores.values_list("position", flat=True)) == [0, 2]
    assert Run.objects.count() == runs
