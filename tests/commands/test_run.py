"""`manage.py run` and `watch`: launch, wait, judge, write."""

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User

from runs.management.watching import Watcher, trouble_of
from runs.models import Configuration, Endpoint, Run, RunState
from runs.selectors.scores.columns import LINE
from runs.services.configurations import save_configuration
from runs.services.runs import create_run
from tests.commands.conftest import command, write
from tests.workers.working import finish, running_worker
from workers.engine.kinds import read_configuration
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_file_is_run_by_the_workers_and_told_line_by_line(
    file: Path, simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=30)
    with running_worker():
        ran = command("run", file, "--set", "limits.max_concurrent=5")
    assert ran.exit_code == 0
    launch, *progress, done = ran.lines
    run = Run.objects.get()
    assert launch == {
        "event": "launch", "run_id": run.pk, "name": "sums", "planned": 120,
        "address": f"/runs/{run.pk}/",
    }  # fmt: skip
    assert {line["event"] for line in progress} <= {"progress", "waiting"}
    assert (done["event"], done["verdict"], done["state"]) == ("done", "passed", "completed")
    assert done["counts"] == {"planned": 120, "done": 120, "failed": 0, "cached": 0}
    assert run.document["limits"]["max_concurrent"] == 5
    assert simulator.ledger()["peak_in_flight"] <= 5


def test_every_output_is_written_and_tells_the_same(
    tmp_path: Path, file: Path, simulator: SimulatorClient
) -> None:
    outputs = {name: tmp_path / name for name in ("j.xml", "s.md", "e.csv", "e.jsonl")}
    with running_worker():
        ran = command(
            "run", file, "--junit", outputs["j.xml"], "--summary", outputs["s.md"],
            "--export", outputs["e.csv"], "--min-score", "2", "--max-cost", "0",
        )  # fmt: skip
        again = command("watch", Run.objects.get().pk, "--export", outputs["e.jsonl"])
    assert (ran.exit_code, again.exit_code) == (100, 0)
    suite = ElementTree.parse(outputs["j.xml"]).getroot()[0]
    failed = {
        case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None
    }
    assert failed == {"score", "cost"}  # the price of the simulated models is not known here
    assert outputs["s.md"].read_text().startswith("### ❌ Failed: score, cost — `sums` · run ")
    rows = list(csv.DictReader(outputs["e.csv"].open(newline="")))
    records = [json.loads(line) for line in outputs["e.jsonl"].open()]
    assert [row["position"] for row in rows] == [str(number) for number in range(120)]
    assert [float(row["value"]) for row in rows] == [record["value"] for record in records]
    for name in ("question", "expected", "answer"):
        assert [row[name] for row in rows] == [record[name] for record in records]
    assert all(row["question"] and row["expected"] for row in rows)
    assert all(row["judgements"].startswith("numeric ") for row in rows)


def test_a_regression_against_the_baseline_fails_and_is_shown(
    tmp_path: Path, file: Path, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    worse = {**document, "prompts": [{"name": p["name"], "user": "Say nothing."}
                                     for p in document["prompts"]]}  # fmt: skip
    with running_worker():
        first = command("run", file, "--baseline", "last")
        same = command("run", file, "--baseline", first.done["run_id"], "--max-regressions", 0)
        fell = command(
            "run", write(tmp_path / "worse.yaml", worse), "--baseline", "last",
            "--max-regressions", 3, "--summary", tmp_path / "s.md",
        )  # fmt: skip
    assert first.exit_code == 0  # nothing to compare with yet, and it says so
    assert "baseline" in {line["event"] for line in first.lines}
    assert same.exit_code == 0
    assert same.done["comparison"]["overall"]["mean"] == 0
    assert fell.exit_code == 100
    assert {c["name"] for c in fell.done["checks"] if not c["passed"]} == {
        "baseline",
        "regressions",
    }
    assert fell.done["comparison"]["regressions"] > 3
    assert "scored lower than in `sums`" in (tmp_path / "s.md").read_text()


@pytest.mark.parametrize(
    ("changes", "options", "exit_code"),
    [
        pytest.param({"budget": {"calls": 30}}, [], 4, id="budget"),
        pytest.param({"models": ["simulated/sim-large:400"]}, [], 3, id="all refused"),
        pytest.param(
            {"models": ["simulated/sim-small", "simulated/sim-large:400"]},
            ["--max-error-rate", "0.4"], 3, id="half refused",
        ),
        pytest.param(
            {"models": ["simulated/sim-small", "simulated/sim-large:400"]},
            ["--max-error-rate", "0.5"], 0, id="half may be",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", ["workers", "here"])
def test_exit_codes(
    file: Path,
    document: dict[str, Any],
    simulator: SimulatorClient,
    changes: dict[str, Any],
    options: list[str],
    exit_code: int,
    where: str,
) -> None:
    write(file, {**document, **changes})
    if where == "here":
        ran = command("run", file, "--here", *options)
    else:
        with running_worker():
            ran = command("run", file, *options)
    assert ran.done["exit_code"] == ran.exit_code == exit_code
    assert ran.done["advice"].keys() == ran.done["errors"].keys()
    assert simulator.ledger()["total"] <= changes.get("budget", {}).get("calls", 120)


def test_without_workers_it_runs_in_this_process_and_stores_nothing(
    tmp_path: Path, file: Path, simulator: SimulatorClient
) -> None:
    ran = command("run", file, "--here", "--export", tmp_path / "e.jsonl", "--min-score", "0.1")
    assert ran.exit_code == 0
    assert ran.lines[0]["run_id"] is None
    assert ran.done["counts"]["done"] == 120
    assert len(ran.done["candidates"]) == 6
    records = [json.loads(line) for line in (tmp_path / "e.jsonl").open()]
    assert len(records) == 120
    assert records[0].keys() == set(LINE)
    assert all(record["question"] and record["expected"] for record in records)
    assert not Run.objects.exists()


def test_a_run_of_this_process_tells_what_its_judges_took(
    tmp_path: Path, document: dict[str, Any], ada: User, simulator: SimulatorClient
) -> None:
    rubric = {"judge": "simulated/sim-large", "rubric": "It is the right number."}
    judged = {**document, "models": ["simulated/sim-small"], "scorers": [{"rubric": rubric}]}
    ran = command("run", write(tmp_path / "judged.yaml", judged), "--here")
    roles = ran.done["roles"]
    assert (roles["evaluate"]["sent"], roles["judge"]["sent"]) == (60, 60)
    assert simulator.ledger()["by_model"] == {"sim-small": 60, "sim-large": 60}


def test_here_and_the_workers_agree_and_share_the_cache(
    file: Path, simulator: SimulatorClient
) -> None:
    with running_worker():
        stored = command("run", file)
    here = command("run", file, "--here", "--baseline", "last", "--max-regressions", 0)
    assert here.exit_code == 0
    assert here.done["counts"]["cached"] == 120
    assert simulator.ledger()["total"] == 120
    assert here.done["score"] == stored.done["score"]
    boards = [
        [(line["name"], line["score"], line["failed"]) for line in ran.done["candidates"]]
        for ran in (here, stored)
    ]
    assert boards[0] == boards[1]
    assert all(line["latency_p50"] > 0 for line in stored.done["candidates"])
    assert here.done["comparison"]["pairs"] == 120
    assert here.done["comparison"]["marks"] == []


def test_a_stored_configuration_is_run_by_its_name(
    ada: User, file: Path, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    save_configuration(ada, "nightly", document)
    ran = command("run", "nightly", "--detach")
    assert ran.exit_code == 0
    assert [line["event"] for line in ran.lines] == ["launch"]
    assert Run.objects.get().name == "nightly"
    with running_worker():
        watched = command("watch", ran.lines[0]["run_id"])
    assert watched.done["state"] == "completed"


def test_nobody_works_so_it_says_what_to_do_and_goes_on(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    told: list[str] = []
    workers = running_worker()

    class Listener:
        """Starts a worker as soon as the command asks for one, which it does again when that one
        was silent for some seconds."""

        def tell(self, event: str, text: str, **facts: Any) -> None:
            told.append(text)
            if len(told) == 1:
                workers.__enter__()

        def progress(self, standing: object) -> None: ...

    run = create_run(ada, document)
    try:
        ended = Watcher(run, Listener(), ask_workers_every_seconds=0).wait()  # type: ignore[arg-type]
    finally:
        workers.__exit__(None, None, None)
    assert ended.state == RunState.COMPLETED
    assert "manage.py work" in told[0]


@pytest.mark.parametrize(
    ("state", "reason", "told"),
    [
        (RunState.QUEUED, "", "one worker with `manage.py work`"),
        (RunState.RUNNING, "Waiting: endpoint simulated is paused", "endpoint simulated is paused"),
        (RunState.PAUSED, "Paused by bob: lunch", "Paused by bob: lunch. It goes on when"),
        (RunState.PAUSING, "The budget of 1 call is used up", "Pausing."),
    ],
)
def test_what_a_run_waits_for_is_told(state: RunState, reason: str, told: str) -> None:
    assert told in trouble_of(Run(state=state, reason=reason))


def test_an_address_that_is_not_allowed_is_told_in_one_message(
    file: Path, endpoint: Endpoint
) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(kind="ollama", base_url="http://10.0.0.1:11434")
    ran = command("run", file, "--here")
    assert (ran.exit_code, ran.out) == (2, "")
    assert "The endpoint simulated cannot be called. 10.0.0.1:11434" in ran.err


def test_off_without_quotes_is_taken_in_a_file_and_after_set(file: Path) -> None:
    assert command("run", file, "--detach", "--set", "cache=off").exit_code == 0
    file.write_text(f"{file.read_text()}\ncache: off\n")
    assert command("run", file, "--detach").exit_code == 0
    assert [read_configuration(run.document).cache for run in Run.objects.all()] == ["off", "off"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["absent.yaml"], "There is no file absent.yaml", id="no file"),
        pytest.param(["absent"], "no stored configuration 'absent'", id="no name"),
        pytest.param(["FILE", "--set", "limits.max_concurent=5"], "max_concurent", id="misspelt"),
        pytest.param(["FILE", "--set", "repeats"], "path=value", id="no value"),
        pytest.param(["FILE", "--set", "models.7=x/y"], "0 to 1", id="no such place"),
        pytest.param(["FILE", "--set", "name.first=x"], "has no fields", id="no fields"),
        pytest.param(["FILE", "--set", "cache=on"], "use, refresh or off", id="no mode"),
        pytest.param(["FILE", "--user", "bob"], "no active account 'bob'", id="nobody"),
        pytest.param(["FILE", "--baseline", "7"], "no run of this number", id="no baseline"),
        pytest.param(["FILE", "--baseline", "x"], "number of a run", id="odd baseline"),
        pytest.param(["FILE", "--alpha", "0.1"], "add --baseline", id="alpha alone"),
        pytest.param(["FILE", "--export", "scores.xlsx"], ".jsonl or .csv", id="odd format"),
        pytest.param(["FILE", "--junit", "nowhere/j.xml"], "no folder", id="no folder"),
        pytest.param(["FILE", "--detach", "--min-score", "1"], "does not wait", id="detached gate"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_before_anything_is_sent(
    file: Path, simulator: SimulatorClient, words: list[str], told: str
) -> None:
    ran = command("run", *(str(file) if word == "FILE" else word for word in words))
    assert (ran.exit_code, ran.out) == (2, "")
    assert told in ran.err
    assert not Run.objects.exists()
    assert not Configuration.objects.exists()


def test_a_baseline_with_other_scorers_is_refused(
    ada: User, file: Path, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    with running_worker():
        base = finish(create_run(ada, {**document, "scorers": ["exact"]}))
    ran = command("run", file, "--baseline", base.pk)
    assert ran.exit_code == 2
    assert "other scorers" in ran.err
    assert Run.objects.count() == 1


def test_the_last_run_is_an_earlier_one_with_the_same_scorers(
    ada: User, file: Path, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    with running_worker():
        first = finish(create_run(ada, document))
        finish(create_run(ada, {**document, "scorers": ["exact"]}))
        third = finish(create_run(ada, document))
    watched = command("watch", third.pk, "--baseline", "last")
    assert watched.done["comparison"]["base"]["run_id"] == first.pk
    lone = command("watch", first.pk, "--baseline", "last")
    assert lone.exit_code == 0
    assert lone.done["comparison"] is None
    assert "baseline" in {line["event"] for line in lone.lines}
