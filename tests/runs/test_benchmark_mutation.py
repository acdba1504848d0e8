"""The mutation suite: what it measures, and how it compares."""

import pytest

from runs.benchmarking.limits.whole import choose_rows
from runs.benchmarking.mutation.rows import MUTATION_ROWS, Trained, differing
from runs.benchmarking.mutation.work import mutation_work
from tests.runs.benchmark_parts import measured
from workers.engine.kinds import read_configuration
from workers.engine.kinds.mutate import Mutation

MODEL = {"endpoint": "simulated", "model": "sim-small"}


def test_its_rows_are_its_own() -> None:
    assert choose_rows("", "mutation") == tuple(MUTATION_ROWS) == ("batching",)


@pytest.mark.parametrize("at_once", [1, 8, 16])
def test_a_step_asks_three_models_and_nothing_else(at_once: int) -> None:
    found = read_configuration(mutation_work("d", MODEL, at_once=at_once, steps=8))
    assert isinstance(found, Mutation)
    assert found.limits.max_concurrent == at_once
    assert found.count_segments() == 16
    assert all(one.asks for one in found.operators)
    assert [name for name, _ in found.roles.called] == ["target", "mutator"]
    assert [scorer.name for scorer in found.scorers] == ["factuality"]


def test_other_rewards_are_counted() -> None:
    slow = Trained(measured(1, 1.0), 3, [0.5, None, 1.0])
    assert differing(slow, slow._replace(rewards=[0.5, None, 1.0])) == 0
    assert differing(slow, slow._replace(rewards=[0.5, 0.0, 0.0])) == 2
