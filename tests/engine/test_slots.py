"""How the slots of a run are shared: never among more than there is, nor beyond any limit."""

from typing import Any

import pytest

from tests.engine.selecting import make_matrix, of_matrix, play, select
from workers.engine.chunks import Allocation, Work, share_slots
from workers.engine.kinds import read_configuration
from workers.engine.kinds.select.rows import rounds_of
from workers.engine.schedule import plan_slots, slots_allowed
from workers.engine.strategies import SELECTIONS


def configuration(prompts: int = 1, models: int = 1, **limits: Any) -> Any:
    return read_configuration(
        {
            "kind": "evaluate",
            "dataset": "sums",
            "prompts": [{"name": f"p{n}", "user": "{{question}}"} for n in range(prompts)],
            "models": [f"simulated/m{n}" for n in range(models)],
            "scorers": ["exact"],
            "limits": limits,
        }
    )


def selection(**changes: Any) -> Any:
    models = ["simulated/a", "simulated/b", "simulated/c"]
    steps = [{"name": name, "user": "{{question}}", "models": models} for name in "xyz"]
    document = {"kind": "select", "dataset": "sums", "steps": steps, "scorers": ["exact"]}
    return read_configuration({**document, "strategy": "arm_elimination", **changes})


@pytest.mark.parametrize(
    ("slots", "work", "split", "lent", "empty"),
    [
        pytest.param(4, Work(1, 100, 100), (1, 4), 0, 0, id="one candidate, four slots"),
        pytest.param(50, Work(2, 5, 10), (2, 5), 0, 40, id="two left, few cases"),
        pytest.param(50, Work(27, 3, 81), (16, 3), 2, 0, id="as documented, the rest lent"),
        pytest.param(50, Work(8, 5, 10), (2, 5), 0, 40, id="a round of uneven parts"),
        pytest.param(20, Work(9, 1, 9), (9, 1), 0, 11, id="one case each"),
        pytest.param(0, Work(3, 3, 9), (1, 1), 0, 0, id="no slots count as one"),
    ],
)
def test_slots_are_shared_among_what_there_is(slots, work, split, lent, empty):
    found = share_slots(slots, work)
    assert (found.split, found.lent, found.empty) == (Allocation(*split), lent, empty)


@pytest.mark.parametrize(
    ("made", "cases", "slots", "split", "lent", "empty"),
    [
        pytest.param(configuration(), 100, 4, (1, 4), 0, 0, id="1 candidate, limit 4"),
        pytest.param(configuration(), 20, 50, (1, 20), 0, 30, id="fewer cases than slots"),
        pytest.param(configuration(3), 100, 50, (3, 16), 2, 0, id="case by case"),
        pytest.param(configuration(9), 100, 4, (4, 1), 0, 0, id="more candidates than slots"),
        pytest.param(
            configuration(9, schedule="two_level", batch_size=3), 100, 10, (3, 3), 0, 1, id="two"
        ),
        pytest.param(
            configuration(1, schedule="two_level", batch_size=3), 100, 10, (1, 3), 0, 7, id="one"
        ),
        pytest.param(selection(), 30, 50, (16, 3), 2, 0, id="the first round of 27"),
    ],
)
def test_a_run_shows_what_it_does_with_its_slots(made, cases, slots, split, lent, empty):
    found = plan_slots(made, cases, slots)
    assert (found.split, found.lent, found.empty) == (Allocation(*split), lent, empty)


@pytest.mark.parametrize(
    ("models", "own", "endpoint", "allowed"),
    [
        pytest.param(1, 50, 4, 4, id="the endpoint allows less"),
        pytest.param(3, 50, 4, 12, id="each of its models"),
        pytest.param(3, 10, 4, 10, id="the run asks for less"),
    ],
)
def test_the_smaller_limit_holds(models, own, endpoint, allowed):
    made = configuration(models=models, max_concurrent=own)
    assert slots_allowed(made, {"simulated": endpoint, "other": 1}) == allowed


@pytest.mark.parametrize("name", SELECTIONS)
def test_no_round_shows_more_than_takes_part_in_it(name):
    matrix = make_matrix([0.2, 0.4, 0.5, 0.6, 0.6, 0.7, 0.8, 0.9, 0.95], 60, seed=3)
    strategy = select(name, matrix)
    play(strategy, of_matrix(matrix))
    for record in rounds_of(strategy, 50):
        assert record.split.candidates <= record.combinations
        assert record.split.cases_per_candidate <= record.cases
        assert record.slots.in_split + record.slots.lent <= min(50, record.trials)
