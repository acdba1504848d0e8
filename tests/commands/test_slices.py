"""Which rows of the dataset, on the command line: over what the document says, with workers and
without."""

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


@pytest.fixture
def graded(tmp_path: Path, document: dict[str, Any], file: Path, ada: User) -> Path:
    rows = [
        {**question._asdict(), "level": str(place % 4)}
        for place, question in enumerate(make_questions(20))
    ]
    store_rows(ada, "graded", rows)
    return write(tmp_path / "graded.yaml", document | {"dataset": {"name": "graded", "first": 2}})


@pytest.mark.parametrize(
    ("options", "cases"),
    [
        ((), 2),
        (("--first", "3"), 3),
        (("--sample", "8"), 2),
        (("--sample", "8", "--sample-seed", "1", "--first", "20"), 8),
        (("--where", "level=1", "--first", "20"), 5),
        (("--where", "level=1", "--where", "level=2", "--first", "20"), 10),
        (("--where", "level!=1", "--first", "20"), 15),
    ],
)
def test_options_take_the_place_of_fields_of_the_document(
    graded: Path, options: tuple[str, ...], cases: int
) -> None:
    assert f"{cases} of 20; expected answer" in command("estimate", graded, *options).out


def test_a_run_of_this_process_takes_the_same_rows_and_says_what_it_ran_on(
    graded: Path, simulator: SimulatorClient, tmp_path: Path
) -> None:
    part = ("--where", "level!=0", "--sample", "4", "--sample-seed", "9", "--first", "20")
    ran = command("run", graded, "--here", *part, "--export", tmp_path / "scores.csv")
    assert ran.exit_code == 0, ran.err
    assert ran.done["counts"]["done"] == 4 * 6
    facts = ran.done["ran_on"]
    assert (facts["cases"], facts["rows"]) == (4, 20)
    assert facts["slice"] == "where level is not 0, a sample (seed 9), the first"
    assert facts["scorers"] == {"numeric": 1}
    assert "adaptive" in facts["endpoints"]["simulated"]
    launched = command("run", graded, "--detach", *part)
    assert launched.exit_code == 0, launched.err
    run = Run.objects.get()
    assert (run.planned, run.snapshot_of["slice"]) == (24, facts["slice"])


@pytest.mark.parametrize("words", [("run",), ("run", "--here"), ("estimate",)])
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--where", "grade=1"), "There is no column 'grade'. The columns are: question, expected"),
        (("--where", "level=7"), "No row has '7' in the column 'level'. Among what there is: '0'"),
        (("--where", "level"), "--where level: write COLUMN=VALUE"),
        (("--where", "level=1", "--where", "level!=2"), "give either values with ="),
        (("--sample", "21"), "A sample of 21 cannot be drawn from 20 rows."),
        (("--split", "dev"), "There is no part 'dev'. Choose one of: train, test"),
        (("--sample-seed", "3"), "A seed draws a sample, and none is asked for."),
    ],
)
def test_a_slice_that_cannot_be_cut_is_refused_before_any_call(
    graded: Path,
    simulator: SimulatorClient,
    words: tuple[str, ...],
    options: tuple[str, ...],
    told: str,
) -> None:
    name, *more = words
    refused = command(name, graded, *more, *options)
    assert (refused.exit_code, told in refused.err) == (2, True), refused.err
    assert (simulator.ledger()["total"], Run.objects.count()) == (0, 0)
