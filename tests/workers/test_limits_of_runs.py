"""Limits through a real worker: the endpoint's alone, and the schedules that limit candidates."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Endpoint, Run, RunState
from runs.services.runs import create_run
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_without_limits_goes_as_fast_as_its_endpoint_allows(
    ada: User, document: dict[str, Any], endpoint: Endpoint, simulator: SimulatorClient
) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(max_concurrent=33, adaptive=False)
    simulator.change(latency_ms=20, gather=33)
    document["limits"] = {"detailed_performance_logging": True}
    document["models"] = ["simulated/sim-small"]
    with running_worker():
        run = finish(create_run(ada, document))
    assert run.state == RunState.COMPLETED
    assert simulator.ledger()["peak_in_flight"] == 33
    told = run.events.get(message__startswith="Performance: ").message
    assert "60 calls in " in told
    assert "latency p50 " in told
    assert "0 cache hits (0.0 %)" in told
    assert " % of 33 calls at once used on average" in told
    assert "no call was throttled" in told


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({"max_concurrent_genomes": 2, "genome_batch_size": 3}, id="batches"),
        pytest.param({"max_concurrent": 12, "schedule": "two_level"}, id="two levels"),
    ],
)
def test_a_selection_chooses_the_same_under_two_level(
    ada: User, selection: dict[str, Any], simulator: SimulatorClient, limits: dict[str, Any]
) -> None:
    selection["strategy"] = {"name": "arm_elimination", "batch": 4}
    with running_worker():
        usual = finish(create_run(ada, selection))
        split = finish(create_run(ada, {**selection, "limits": limits}))
    assert (split.state, split.done, split.chosen) == (usual.state, usual.done, usual.chosen)
    assert results(split) == results(usual)


def results(run: Run) -> list[tuple[Any, ...]]:
    rows = run.scores.values_list("candidate__key", "case__position", "repeat", "value", "answer")
    return sorted(rows)
