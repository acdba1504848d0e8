"""People with tokens, and a run that all of them could ask for."""

import pytest

from runs.models import RunState
from tests.api.asking import Asker
from tests.harness.factories import add_score, make_run


@pytest.fixture
def asker(alice):
    return Asker(alice)


@pytest.fixture
def staff(ada):
    return Asker(ada)


@pytest.fixture
def stranger(bob):
    return Asker(bob)


@pytest.fixture
def run(alice, dataset):
    """It goes on; one of its three trials is right, one failed."""
    counts = {"done": 2, "scored": 1, "failed": 1, "value_sum": 1.0, "value_square_sum": 1.0}
    made = make_run(alice, dataset, state=RunState.RUNNING, ended=None, **counts)
    made.candidates.update(**counts)
    candidate, failed = made.candidates.get(), {"error_class": "timeout", "latency_ms": None}
    add_score(made, dataset.cases.get(position=0), candidate, 0)
    case = dataset.cases.get(position=1)
    add_score(made, case, candidate, 1, error_message="no answer", **failed)
    return made
