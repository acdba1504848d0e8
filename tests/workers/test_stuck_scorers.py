"""Scorers that take for ever, in a real worker: it goes on, and so do its leases and other runs."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Chunk, Run, RunState
from runs.services.control.retrying import retry_failed
from runs.services.datasets.storing import store_rows
from runs.services.runs import create_run
from tests import odd_scorers
from tests.harness.processes import wait_until_gone
from tests.workers.working import finish, running_worker
from workers.engine.plugins import PLUGINS
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

PACKAGE = odd_scorers.__name__
LATE = (
    "The scorer Hangs took longer than the 0.3 s that one answer may take, so its process was "
    "ended. Make a regex simpler, or a plug-in faster. The answer is kept."
)


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    odd_scorers.register()
    yield
    PLUGINS.clear()


@pytest.fixture
def plain(document: dict[str, Any]) -> dict[str, Any]:
    """One prompt and one model."""
    return {**document, "prompts": document["prompts"][:1], "models": ["simulated/sim-small"]}


def test_a_scorer_that_never_ends_costs_its_own_trials_only(
    ada: User, plain: dict[str, Any], simulator: SimulatorClient
) -> None:
    three = {"name": "sums", "first": 3}
    telling = {**plain, "scorers": [f"{PACKAGE}.TellsProcess"]}
    with running_worker(also=PACKAGE) as worker:
        stuck = create_run(ada, {**plain, "dataset": three, "scorers": [f"{PACKAGE}.Hangs"]})
        other = finish(create_run(ada, plain))
        apart = finish(create_run(ada, telling))
        assert other.state == apart.state == RunState.COMPLETED
        check_stuck(finish(stuck))
        simulator.reset()
        assert retry_failed(stuck, ada) == 3
        check_stuck(finish(stuck))
        assert simulator.ledger()["total"] == 0  # the answers were kept
        # One lease for each chunk, and one more for those that were retried: none ran out.
        assert set(other.chunks.values_list("token", flat=True)) == {1}
        assert set(stuck.chunks.values_list("token", flat=True)) == {2}
        assert not Chunk.objects.exclude(deaths=0).exists()

        last = finish(create_run(ada, telling))
        children = {int(score.details[0][3]) for score in last.scores.all()}
        assert worker.pid not in children
        worker.kill()
        wait_until_gone(*children)


def check_stuck(run: Run) -> None:
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 3, 3)
    rows = run.scores.values_list("error_class", "error_message", "value")
    assert set(rows) == {("scorer_error", LATE, None)}
    assert all(run.scores.values_list("answer", flat=True))


def test_patterns_that_a_dataset_brings_cannot_keep_the_worker(
    ada: User, plain: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.play({"times": None, "do": "answer", "answer": "a" * 5_000})
    rules = ["(?:a?){1000}X" * 60, "(?:a?){1000}X", "a+"]
    store_rows(ada, "rules", [{"question": f"{n}?", "rule": rule} for n, rule in enumerate(rules)])
    document = {**plain, "dataset": "rules", "scorers": [{"regex": {"pattern_field": "rule"}}]}
    with running_worker():
        run = finish(create_run(ada, document))
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 3, 1)
    refused, slow, quick = run.scores.order_by("case__position")
    assert "is too large: RE2 makes a program of more than 10,000" in refused.error_message
    assert (slow.value, quick.value) == (0.0, 1.0)
