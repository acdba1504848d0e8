"""`manage.py estimate`: what a run would take, and what is wrong with it."""

import json

import pytest

from runs.models import Endpoint, Run
from tests.commands.conftest import CASES, TRIALS, command, refused, write

pytestmark = pytest.mark.django_db(transaction=True)


def test_calls_cost_time_and_the_limit_are_told(file, endpoint):
    Endpoint.objects.update(
        prices={name: {"input": 1, "output": 2} for name in ("sim-small", "sim-large")}
    )
    ran = command("estimate", file, "--json", "--set", "limits.requests_per_minute=60")
    found = json.loads(ran.out)
    assert (found["trials"], found["calls_to_send"], found["calls_cached"]) == (TRIALS, TRIALS, 0)
    assert "60 requests a minute of this run" in found["limited_by"]
    assert found["cost_text"].startswith("$")
    text = command("estimate", file).out
    assert f"{TRIALS}  (6 candidates x {CASES} cases x 1 repeat)" in text
    assert "Limited by  12 calls at once of this run; raising Calls at once (max_con" in text
    assert not Run.objects.exists()


def test_every_problem_is_listed(file, document):
    write(file, {**document, "repeats": 0, "models": ["absent/x"], "colour": "red"})
    for name in ("repeats", "colour"):
        assert refused("estimate", file, told=name)


@pytest.mark.parametrize(
    ("strategy", "trials"),
    [
        pytest.param({"name": "brute_force"}, (32, 32), id="all of it"),
        pytest.param({"name": "epsilon_lucb"}, (4, 32), id="as it decides"),
        pytest.param({"name": "epsilon_lucb", "budget": 20}, (4, 20), id="up to its budget"),
        pytest.param({"name": "brute_force", "budget": 20}, (20, 20), id="its budget"),
    ],
)
def test_who_chooses_takes_a_range(file, document, strategy, trials):
    models = ["simulated/sim-small", "simulated/sim-large"]
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    steps = [
        {"name": "planner", "user": "{{question}}", "models": models},
        {"name": "solver", "user": "{{planner}}", "models": [*models]},
    ]
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
