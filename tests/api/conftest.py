"""People with tokens, and a run that both could ask for."""

import pytest

from runs.models import RunState
from tests.api.asking import Asker
from tests.harness.factories import (
    add_score,
    make_dataset,
    make_endpoint,
    make_person,
    make_run,
)


@pytest.fixture
def alice():
    return make_person("alice")


@pytest.fixture
def asker(alice):
    return Asker(alice)


@pytest.fixture
def staff():
    return Asker(make_person("ada", staff=True))


@pytest.fixture
def stranger():
    return Asker(make_person("bob"))


@pytest.fixture
def dataset(alice):
    make_endpoint()
    return make_dataset(alice)


@pytest.fixture
def run(alice, dataset):
    """It goes on; one of its three trials is right, one failed."""
    made = make_run(
        alice,
        dataset,
        state=RunState.RUNNING,
        ended=None,
        done=2,
        scored=1,
        failed=1,
        value_sum=1.0,
        value_square_sum=1.0,
    )
    candidate = made.candidates.get()
    add_score(made, dataset.cases.get(position=0), candidate, 0)
    add_score(
        made,
        dataset.cases.get(position=1),
        candidate,
        1,
        error_class="timeout",
        error_message="no answer",
        latency_ms=None,
    )
    made.candidates.update(done=2, scored=1, failed=1, value_sum=1.0, value_square_sum=1.0)
    return made
