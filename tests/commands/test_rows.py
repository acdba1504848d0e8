"""Which rows and which expected answer, on the command line: over what the document says, with
workers and without."""

import pytest

from runs.models import Run
from runs.services.datasets.storing import store_rows
from tests.commands.conftest import command, refused, write
from workers.simulator.demo import make_questions

pytestmark = pytest.mark.django_db(transaction=True)

DOORS = [["run"], ["run", "--here"], ["estimate"]]


@pytest.fixture
def graded(tmp_path, document, ada):
    questions = enumerate(make_questions(20))
    rows = [{**question._asdict(), "level": str(place % 4)} for place, question in questions]
    store_rows(ada, "graded", rows)
    return write(tmp_path / "graded.yaml", document | {"dataset": {"name": "graded", "first": 2}})


@pytest.fixture
def solved(tmp_path, document, ada):
    """A file over a dataset whose column of answers nobody can guess."""
    rows = [{"question": q.question, "solution": f"#### {q.expected}"} for q in make_questions(20)]
    store_rows(ada, "solved", rows)
    return write(tmp_path / "solved.yaml", document | {"dataset": "solved"})


def test_options_take_the_place_of_fields_of_the_document(graded):
    for options, cases in [
        ("", 2),
        ("--first 3", 3),
        ("--sample 8", 2),
        ("--sample 8 --sample-seed 1 --first 20", 8),
        ("--where level=1 --first 20", 5),
        ("--where level=1 --where level=2 --first 20", 10),
        ("--where level!=1 --first 20", 15),
    ]:
        told = command("estimate", graded, *options.split()).out
        assert f"{cases} of 20; expected answer" in told, options


def test_a_run_of_this_process_takes_the_same_rows_and_says_what_it_ran_on(
    graded, simulator, tmp_path
):
    part = ["--where", "level!=0", "--sample", "4", "--sample-seed", "9", "--first", "20"]
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


def test_what_cannot_be_cut_or_compared_is_refused_before_any_call(graded, solved, simulator):
    columns = "Its columns: question, solution."
    wrong = [
        (graded, "--where grade=1", "There is no column 'grade'. The columns are: question, expec"),
        (graded, "--where level=7", "No row has '7' in the column 'level'. Among what there is: '"),
        (graded, "--where level", "--where level: write COLUMN=VALUE"),
        (graded, "--where level=1 --where level!=2", "give either values with ="),
        (graded, "--sample 21", "A sample of 21 cannot be drawn from 20 rows."),
        (graded, "--split dev", "There is no part 'dev'. Choose one of: train, test"),
        (graded, "--sample-seed 3", "A seed draws a sample, and none is asked for."),
        (
            solved,
            "",
            "The scorer numeric compares with an expected answer, and the dataset has no such "
            f"column. {columns} Say which one it is: expected: solution.",
        ),
        (solved, "--set expected=answer", f"The dataset has no column 'answer'. {columns}"),
    ]
    taken = [
        (name, file.name, options)
        for name, *here in DOORS
        for file, options, told in wrong
        if not refused(name, file, *here, *options.split(), told=told)
    ]
    assert taken == []
    assert (simulator.ledger()["total"], Run.objects.count()) == (0, 0)


def test_a_column_and_the_first_rows_are_set_where_the_document_only_names_a_dataset(
    solved, simulator
):
    changes = ("--set", "expected=solution", "--set", "dataset.first=3")
    ran = command("run", solved, "--here", *changes)
    assert ran.exit_code == 0, ran.err
    assert ran.done["counts"] == {"planned": 18, "done": 18, "failed": 0, "cached": 0}
    told = command("estimate", solved, *changes).out
    assert "3 of 20; expected answer: solution" in told
    all_of_few = command("estimate", solved, *changes, "--set", "dataset.first=500").out
    assert "20 of 20" in all_of_few
