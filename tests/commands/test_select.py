"""`manage.py run` of a selection: what it prints, writes and judges by."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from runs.kinds.select.findings import SelectionFindings
from runs.kinds.select.table import lines_below, rival_text, selection_table
from tests.commands.conftest import command, write
from tests.engine.selecting import make_matrix, of_matrix, play, select
from workers.engine.kinds.select.report import Rival, SelectionReport, report_of
from workers.engine.kinds.select.rows import rounds_of, rows_of
from workers.engine.records import Candidate
from workers.simulator.testing import SimulatorClient


@pytest.fixture
def selection(tmp_path: Path, file: Path, document: dict[str, Any]) -> Path:
    """A solver that is right, and one that is told to be wrong."""
    common = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    models = [
        "simulated/sim-large",
        {"endpoint": "simulated", "model": "sim-small", "parameters": {"max_tokens": 9}},
    ]
    steps = [{"name": "solver", "system": "Answer with the number only.", "models": models}]
    return write(tmp_path / "select.yaml", {**common, "kind": "select", "steps": steps})


@pytest.mark.django_db(transaction=True)
def test_a_selection_is_printed_and_written_as_a_table_and_as_its_winner(
    tmp_path: Path, selection: Path, simulator: SimulatorClient
) -> None:
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


@pytest.mark.django_db(transaction=True)
def test_only_a_selection_has_a_winner_to_write(file: Path, tmp_path: Path) -> None:
    refused = command("run", file, "--here", "--export", tmp_path / "winner.yaml")
    assert refused.exit_code != 0
    assert ".jsonl or .csv" in refused.err


def report(accuracies: list[float], failed: float = 0.0) -> SelectionReport:
    matrix = make_matrix(accuracies, datapoints=40, failed=failed)
    strategy = select("arm_elimination", matrix)
    strategy.candidates[0] = Candidate("0", "agent=[red]0[/red]", {"choices": {"agent": "0"}})
    play(strategy, of_matrix(matrix))
    rows = rows_of(strategy)
    evaluations = sum(row.n for row in rows)
    return report_of(strategy, rows, rounds_of(strategy, 20), name="any", evaluations=evaluations)


def test_the_table_marks_the_winner_and_takes_no_name_for_markup() -> None:
    found = report([0.9, 0.5, 0.1])
    console = Console(file=StringIO(), width=200)
    console.print(selection_table(found))
    [head, first, *rest] = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert head.split()[:2] == ["combination", "accuracy"]
    assert first.startswith(">>>")
    assert "agent=[red]0[/red]" in first
    assert sum("given up in round" in line for line in rest) == found.eliminated


def test_below_the_table_stands_what_was_saved_and_how_sure_it_is() -> None:
    close = lines_below(report([0.8, 0.8]))
    assert "fewer than trying everything" in close[0]
    assert "The winner is not separable from" in close[1]
    equal = rival_text(Rival("other", 0.0001, -0.2, 0.2, 1, 0.1, 0.9), 2)
    assert "other and 1 other: on the same 1 case they are equal" in equal
    assert len(lines_below(report([0.2] * 30, failed=0.1))) >= 2


def test_a_selection_without_an_answer_has_no_score() -> None:
    assert SelectionFindings(report([0.5, 0.5], failed=1.0), {}).score is None
