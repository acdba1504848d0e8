"""`manage.py estimate`, and which rows and expected answer a command takes."""

import json

import pytest

from runs.models import Endpoint, Run
from runs.services.datasets.storing import store_rows
from tests.commands.conftest import CASES, TRIALS, command, refused, write
from tests.harness.table import row, table
from workers.simulator.demo import make_questions

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_problem_is_listed_else_calls_cost_time_and_the_limit(file, endpoint, document):
    price = {"input": 1, "output": 2}
    Endpoint.objects.update(prices={"sim-small": price, "sim-large": price})
    ran = command("estimate", file, "--json", "--set", "limits.requests_per_minute=60")
    found = json.loads(ran.out)
    assert (found["trials"], found["calls_to_send"], found["calls_cached"]) == (TRIALS, TRIALS, 0)
    assert "60 requests a minute of this run" in found["limited_by"]
    assert found["cost_text"].startswith("$")
    text = command("estimate", file).out
    assert f"{TRIALS}  (6 candidates x {CASES} cases x 1 repeat)" in text
    limit = "Limited by  12 calls at once of this run; raising Calls at once (max_concurrent)"
    assert limit in text
    assert not Run.objects.exists()
    write(file, {**document, "repeats": 0, "models": ["absent/x"], "colour": "red"})
    for name in ("repeats", "colour"):
        assert refused("estimate", file, told=name)


@table(
    row({"name": "brute_force"}, (32, 32), id="all of it"),
    row({"name": "epsilon_lucb"}, (4, 32), id="as it decides"),
    row({"name": "epsilon_lucb", "budget": 20}, (4, 20), id="up to its budget"),
    row({"name": "brute_force", "budget": 20}, (20, 20), id="its budget"),
)
def test_who_chooses_takes_a_range(file, document, strategy, trials):
    models = ["simulated/sim-small", "simulated/sim-large"]
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    asked = {"planner": "{{question}}", "solver": "{{planner}}"}
    steps = [{"name": name, "user": asked[name], "models": [*models]} for name in asked]
    write(file, {**kept, "kind": "select", "steps": steps, "strategy": strategy})
    ran = command("estimate", file, "--json")
    assert not ran.err
    found = json.loads(ran.out)
    assert (found["trials_low"], found["trials"]) == trials
    assert (found["calls_low"], found["calls_to_send"]) == (2 * trials[0], 2 * trials[1])
    assert found["seconds_low"] <= found["seconds_high"]
    assert ("for the first round alone" in found["basis"]) == (trials[0] < trials[1])
    text = command("estimate", file).out
    assert ("4 – " in text) == (trials[0] == 4)


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


def test_a_run_of_this_process_takes_the_same_rows_and_says_which(graded, simulator, tmp_path):
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
    """What can be cut: tests/engine/test_slicing.py."""
    compares = "The scorer numeric compares with an expected answer, and the dataset has no such"
    columns = "Its columns: question, solution."
    no_column = "There is no column 'grade'. The columns are: question, expected"
    wrong = [
        (graded, "--where grade=1", no_column),
        (graded, "--where level", "--where level: write COLUMN=VALUE"),
        (graded, "--where level=1 --where level!=2", "give either values with ="),
        (graded, "--split dev", "There is no part 'dev'. Choose one of: train, test"),
        (graded, "--sample-seed 3", "A seed draws a sample, and none is asked for."),
        (solved, "", f"{compares} column. {columns} Say which one it is: expected: solution."),
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


def test_a_column_and_the_first_rows_are_set_where_only_a_dataset_is_named(solved, simulator):
    changes = ("--set", "expected=solution", "--set", "dataset.first=3")
    ran = command("run", solved, "--here", *changes)
    assert ran.exit_code == 0, ran.err
    assert ran.done["counts"] == {"planned": 18, "done": 18, "failed": 0, "cached": 0}
    assert "3 of 20; expected answer: solution" in command("estimate", solved, *changes).out
    all_of_few = command("estimate", solved, *changes, "--set", "dataset.first=500").out
    assert "20 of 20" in all_of_few
