"""One contract for all strategies, through real workers: one story each, all of them in it."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.kinds.select.standing import selection_of
from runs.models import RunState
from runs.selectors.runs.stored_history import stored_history
from runs.services.runs import create_run
from tests.workers.selecting import Plain, in_one_process, plain
from tests.workers.working import finish, running_worker
from workers.engine.strategies import SELECTIONS
from workers.simulator.demo import make_questions
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

SLOTS = 3


@pytest.fixture
def rows() -> list[dict[str, str]]:
    return [question._asdict() for question in make_questions(10)]


@pytest.mark.late
def test_each_keeps_to_its_slots_and_gives_the_table_of_one_call_at_a_time(
    ada: User, selection: dict[str, Any], simulator: SimulatorClient, rows: list[dict[str, str]]
) -> None:
    """A slot is a call: the trials have two calls each, and two workers share the slots."""
    expected: dict[str, Plain] = {}
    found: dict[str, Plain] = {}
    peaks: dict[str, int] = {}
    selection |= {"cache": "off", "dataset": {"rows": rows}}
    one_at_a_time = {**selection["limits"], "max_concurrent": 1}
    few_at_a_time = {**selection["limits"], "max_concurrent": SLOTS}
    with running_worker(), running_worker():
        for name in SELECTIONS:
            selection["strategy"] = {"name": name}
            alone = {**selection, "limits": one_at_a_time}
            simulator.change(latency_ms=0, gather=None)
            expected[name] = in_one_process(alone, simulator, rows)
            simulator.change(latency_ms=5, gather=SLOTS if name == "brute_force" else None)
            simulator.reset()
            run = finish(create_run(ada, {**selection, "limits": few_at_a_time}))
            found[name] = plain(stored_history(run))
            peaks[name] = simulator.ledger()["peak_in_flight"]
    assert found == expected
    assert {name: peak for name, peak in peaks.items() if peak > SLOTS} == {}
    assert peaks["brute_force"] == SLOTS


@pytest.mark.late
def test_each_ends_though_a_model_and_a_case_always_fail(
    ada: User, selection: dict[str, Any], simulator: SimulatorClient, rows: list[dict[str, str]]
) -> None:
    rows[3]["expected"] = "no number"
    selection["steps"][1]["models"] = ["simulated/sim-small:400", "simulated/sim-large"]
    selection |= {"dataset": {"rows": rows}}
    with running_worker():
        runs = {
            name: create_run(ada, {**selection, "strategy": {"name": name}}) for name in SELECTIONS
        }
        for run in runs.values():
            finish(run)
    assert {run.state for run in runs.values()} == {RunState.COMPLETED_WITH_ERRORS}
    for run in runs.values():
        told = [row.key for row in selection_of(run).rows if row.is_best]
        keys = list(run.candidates.order_by("position").values_list("key", flat=True))
        assert told == ([] if run.chosen is None else [keys[run.chosen]])
    best = [row for run in runs.values() for row in selection_of(run).rows if row.is_best]
    assert len(best) >= len(runs) - 1  # a random search may see only combinations that fail
    assert [row.name for row in best if row.name.endswith(":400")] == []
