"""`manage.py run` of every kind: what it prints and writes; and `train_mutator`."""

import csv
from argparse import Namespace
from io import StringIO
from typing import Any

import pytest
import yaml
from rich.console import Console

from runs.kinds import SITE_KINDS
from runs.kinds.select.findings import SelectionFindings
from runs.kinds.select.table import lines_below, rival_text, selection_table
from runs.management import here_results
from runs.management.commands.train_mutator import Command
from runs.management.here_runs import HereRun
from runs.models import Dataset, Endpoint
from tests import toy_kind
from tests.commands.conftest import CASES, command, write
from tests.engine.test_selections import make_matrix, of_matrix, play, select
from tests.harness.factories import run_document, toy_document
from workers.engine.kinds import KINDS, read_configuration
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.select.report import Rival, report_of
from workers.engine.kinds.select.rows import rounds_of, rows_of
from workers.engine.records import CONFIRM, Candidate, Case, Score
from workers.engine.session import Session
from workers.engine.strategies.confirmed import confirmation_key


@pytest.fixture
def selection(tmp_path, file, document):
    """A solver that is right, and one that is told to be wrong."""
    common = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    small = {"endpoint": "simulated", "model": "sim-small", "parameters": {"max_tokens": 9}}
    models = ["simulated/sim-large", small]
    steps = [{"name": "solver", "system": "Answer with the number only.", "models": models}]
    return write(tmp_path / "select.yaml", {**common, "kind": "select", "steps": steps})


def test_a_selection_is_printed_and_written_as_table_and_winner(tmp_path, selection, simulator):
    table = command("run", selection, "--here", "--export", tmp_path / "found.csv")
    winner = command("run", selection, "--here", "--export", tmp_path / "found.yaml")
    scores = command("run", selection, "--here", "--export", tmp_path / "found.jsonl")
    assert [ran.exit_code for ran in (table, winner, scores)] == [0, 0, 0]
    found = table.done["findings"]
    best = found["combinations"][0]
    assert best["is_best"]
    assert table.done["candidates"][0]["name"] == best["name"]
    assert table.done["score"]["value"] == pytest.approx(best["accuracy"])
    rows = list(csv.DictReader((tmp_path / "found.csv").open()))
    assert [row["model_name"] for row in rows] == [c["name"] for c in found["combinations"]]
    assert int(rows[0]["input_tokens"]) > 0
    [model] = yaml.safe_load((tmp_path / "found.yaml").read_text())["model_list"]
    assert model["model_name"] == "solver"
    assert "os.environ/" in model["litellm_params"]["api_key"]
    lines = (tmp_path / "found.jsonl").read_text().splitlines()
    assert len(lines) == scores.done["counts"]["done"]


def report(accuracies, failed=0.0):
    matrix = make_matrix(accuracies, datapoints=40, failed=failed)
    strategy = select("arm_elimination", matrix)
    strategy.candidates[0] = Candidate("0", "agent=[red]0[/red]", {"choices": {"agent": "0"}})
    play(strategy, of_matrix(matrix))
    rows = rows_of(strategy)
    evaluations = sum(row.n for row in rows)
    return report_of(strategy, rows, rounds_of(strategy, 20), name="any", evaluations=evaluations)


def test_the_table_marks_the_winner_and_below_stands_what_was_saved_and_how_sure_it_is():
    found = report([0.9, 0.5, 0.1])
    console = Console(file=StringIO(), width=200)
    console.print(selection_table(found))
    [head, first, *rest] = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert head.split()[:2] == ["combination", "accuracy"]
    assert first.startswith(">>>")
    assert "agent=[red]0[/red]" in first
    assert sum("given up in round" in line for line in rest) == found.eliminated
    close = lines_below(report([0.8, 0.8]))
    assert "fewer than trying everything" in close[0]
    assert "The winner is not separable from" in close[1]
    equal = rival_text(Rival("other", 0.0001, -0.2, 0.2, 1, 0.1, 0.9), 2)
    assert "other and 1 other: on the same 1 case they are equal" in equal
    assert len(lines_below(report([0.2] * 30, failed=0.1))) >= 2
    assert SelectionFindings(report([0.5, 0.5], failed=1.0), {}).score is None


@pytest.fixture
def toy(tmp_path, document, ada, monkeypatch):
    monkeypatch.setitem(KINDS, "toy", toy_kind.Toy)
    monkeypatch.setitem(SITE_KINDS, "toy", toy_kind.SITE)
    return write(tmp_path / "toy.yaml", toy_document(document))


def test_an_estimate_and_a_run_of_this_process_count_roles_apart(toy, simulator, tmp_path):
    ran = command("estimate", toy, "--json")
    assert ran.lines[0]["calls_to_send"] == 3 * CASES + 2
    assert ran.lines[0]["trials"] == 3 * CASES
    simulator.play({"match": {"contains": "Rewrite"}, "do": "status", "status": 400})
    exported, summary = tmp_path / "e.csv", tmp_path / "s.md"
    ran = command("run", toy, "--here", "--export", exported, "--summary", summary)
    assert (ran.exit_code, ran.lines[0]["planned"]) == (0, 3 * CASES)
    assert ran.done["state"] == "completed_with_errors"
    assert ran.done["counts"] == {"planned": 24, "done": 16, "failed": 0, "cached": 0}
    roles = ran.done["roles"]
    assert (roles["propose"]["done"], roles["propose"]["failed"]) == (2, 1)
    assert roles["evaluate"]["sent"] == 16
    assert {line["name"] for line in ran.done["candidates"]} == {"first", "child 2"}
    assert "propose: 2 trials, 1 failed, 2 sent" in summary.read_text()
    with exported.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["role"] for row in rows].count("propose") == 2


GIVEN = [Case(place, {"question": "?", "expected": "1"}) for place in range(12)]


def played(**changes):
    """The second prompt is right everywhere but on the last three trials, which confirm it."""
    prompts = [{"name": name, "user": "{{question}}", "system": name} for name in "abc"]
    sums = Dataset(name="sums", version=1)
    document = run_document(sums, prompts=prompts, models=["one/m"], **changes)
    configuration = read_configuration(document)
    session = Session(configuration.begin(len(GIVEN)))
    run = HereRun(configuration, GIVEN, "sums@1", "", {})
    while not session.is_finished:
        trials = session.plan(10)
        second = session.candidates[1].key
        known = {second: 1.0, confirmation_key(second): 0.0}
        fresh = [Score(t, value=known.get(t.candidate, float(t.case % 2))) for t in trials]
        session.absorb(fresh)
        run.scores += fresh
    run.candidates = list(session.candidates)
    return run


def test_both_values_of_the_best_are_told():
    run = played(held_out=3)
    found = here_results.confirmation_of(run)
    assert found is not None
    assert found.name == "b · one/m"
    assert found.text.startswith("1.000 where it was chosen, 0.000 on 3 cases that it had not seen")
    assert here_results.candidate_lines(run)[0].name == "b · one/m"
    assert len(here_results.candidate_lines(run)) == 3
    assert here_results.role_lines(run)[CONFIRM].done == 3
    assert run.planned == 27
    none_held_out = played()
    assert here_results.confirmation_of(none_held_out) is None
    assert none_held_out.planned == 36


SEED = (
    "--num-processes 16 --num-steps 32 --ppo-epoch 4 --num-mini-batch 4 --num-env-steps 5000 "
    "--use-batching"
)


def trained(text):
    command = Command()
    given: Namespace = command.create_parser("manage.py", "train_mutator").parse_args(text.split())
    options: dict[str, Any] = vars(given)
    found = read_configuration(command.read_subject(options))
    assert isinstance(found, Mutation)
    return found


@pytest.mark.django_db
def test_the_options_of_train_mutator_are_taken_over():
    found = trained(SEED)
    assert found.options.count_updates == 5000 // 32 // 16
    assert found.use_batching
    assert found.limits.max_concurrent is None
    assert Endpoint.objects.filter(name=found.roles.target.endpoint).exists()
    assert found.dataset.name in set(Dataset.objects.values_list("name", flat=True))
    found = trained("--no-batching --updates 2 --batch-size 8")
    assert not found.use_batching
    assert found.limits.max_concurrent == 1
    assert trained("--batch-size 8").limits.max_concurrent == 8
    roles = "--judge local/big --embedder local/e"
    found = trained(f"{roles} --operators noop,shorten --lr 0.01 --seed 4")
    assert [scorer.name for scorer in found.scorers] == ["factuality"]
    assert [one.name for one in found.operators] == ["noop", "shorten"]
    assert (found.strategy.options["lr"], found.seed) == (0.01, 4)
    assert found.roles.embedder is not None
    consistent = trained("--goal consistent")  # two answers are compared as texts
    assert [scorer.name for scorer in consistent.scorers] == ["token_f1"]
    assert not consistent.plugin_problems()
