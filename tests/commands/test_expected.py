"""The expected answer and the first rows on the command line, with workers and without."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Run
from runs.services.datasets.storing import store_rows
from tests.commands.conftest import command, write
from workers.simulator.demo import make_questions
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

REFUSED = (
    "The scorer numeric compares with an expected answer, and the dataset has no such column. "
    "Its columns: question, solution. Say which one it is: expected: solution."
)


@pytest.fixture
def solved(tmp_path: Path, document: dict[str, Any], file: Path, ada: User) -> Path:
    """A file over a dataset whose column of answers nobody can guess."""
    rows = [{"question": q.question, "solution": f"#### {q.expected}"} for q in make_questions(20)]
    store_rows(ada, "solved", rows)
    return write(tmp_path / "solved.yaml", document | {"dataset": "solved"})


@pytest.mark.parametrize("words", [("run",), ("run", "--here"), ("estimate",)])
def test_a_scorer_that_has_nothing_to_compare_with_is_refused_before_any_call(
    solved: Path, simulator: SimulatorClient, words: tuple[str, ...]
) -> None:
    name, *options = words
    refused = command(name, solved, *options)
    assert (refused.exit_code, REFUSED in refused.err) == (2, True)
    missing = command(name, solved, *options, "--set", "expected=answer")
    assert "The dataset has no column 'answer'. Its columns: question, solution." in missing.err
    assert (simulator.ledger()["total"], Run.objects.count()) == (0, 0)


def test_a_column_and_the_first_rows_are_set_where_the_document_only_names_a_dataset(
    solved: Path, simulator: SimulatorClient
) -> None:
    changes = ("--set", "expected=solution", "--set", "dataset.first=3")
    ran = command("run", solved, "--here", *changes)
    assert ran.exit_code == 0, ran.err
    assert ran.done["counts"] == {"planned": 18, "done": 18, "failed": 0, "cached": 0}
    told = command("estimate", solved, *changes).out
    assert "3 of 20; expected answer: solution" in told
    all_of_few = command("estimate", solved, *changes, "--set", "dataset.first=500").out
    assert "20 of 20" in all_of_few
